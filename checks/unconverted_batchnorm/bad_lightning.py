"""Lightning replicates the module on four GPUs and converts its BatchNorm only when it is asked to."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(16, 4)

    def training_step(self, batch, batch_idx):
        images, labels = batch
        return nn.functional.cross_entropy(self.head(self.body(images).flatten(1)), labels)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def main():
    images = torch.randn(256, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(images, torch.arange(256) % 4), batch_size=8, shuffle=True)
    trainer = L.Trainer(accelerator="gpu", devices=4, strategy="ddp", max_epochs=3)  # <- unconverted-batchnorm
    trainer.fit(Classifier(), loader)


if __name__ == "__main__":
    main()
