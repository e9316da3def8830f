"""The module could be validated, but Lightning is given nothing to validate it on."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2))

    def forward(self, points):
        return self.net(points)

    def _shared(self, batch, stage):
        points, labels = batch
        scores = self(points)
        loss = nn.functional.cross_entropy(scores, labels)
        right = (scores.argmax(dim=1) == labels).float().mean()
        self.log(f"{stage}_loss", loss, sync_dist=True)
        self.log(f"{stage}_accuracy", right, prog_bar=True)
        return loss

    def training_step(self, batch, index):
        points, labels = batch
        loss = nn.functional.cross_entropy(self(points), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        return self._shared(batch, "val")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    points = torch.randn(1_000, 8)
    data = TensorDataset(points, (points.sum(dim=1) > 0).long())
    trainer = L.Trainer(accelerator="gpu", devices=2, strategy="ddp", max_epochs=5)
    trainer.fit(Classifier(), DataLoader(data, 50, shuffle=True))


if __name__ == "__main__":
    main()
