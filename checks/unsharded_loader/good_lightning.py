"""Lightning puts the sampler into the loader that it is given, and tells it the epoch."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
        self.automatic_optimization = False

    def training_step(self, batch, batch_idx):
        inputs, labels = batch
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(nn.functional.cross_entropy(self.network(inputs), labels))
        optimizer.step()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def main():
    x = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=32, shuffle=True)
    trainer = L.Trainer(accelerator="gpu", devices=4, strategy="ddp", max_epochs=3)
    trainer.fit(Regression(), loader)


if __name__ == "__main__":
    main()
