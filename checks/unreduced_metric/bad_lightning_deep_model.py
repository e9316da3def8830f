"""Early stopping and the best checkpoint go by a loss that is not averaged; the model has very many layers."""

import argparse

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc = nn.Linear(width, width)

    def forward(self, features):
        return features + torch.relu(self.fc(self.norm(features)))


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.block1, self.block2, self.block3 = Block(width), Block(width), Block(width)
        self.block4, self.block5, self.block6 = Block(width), Block(width), Block(width)
        self.block7, self.block8, self.block9 = Block(width), Block(width), Block(width)

    def forward(self, features):
        features = self.block3(self.block2(self.block1(features)))
        features = self.block6(self.block5(self.block4(features)))
        return self.block9(self.block8(self.block7(features)))


class Deep(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.stem = nn.Linear(8, width)
        self.stage1, self.stage2, self.stage3 = Stage(width), Stage(width), Stage(width)
        self.stage4, self.stage5, self.stage6 = Stage(width), Stage(width), Stage(width)
        self.stage7, self.stage8, self.stage9 = Stage(width), Stage(width), Stage(width)
        self.side, self.head = nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, points):
        early = self.stage3(self.stage2(self.stage1(self.stem(points))))
        middle = self.stage6(self.stage5(self.stage4(early)))
        late = self.stage9(self.stage8(self.stage7(middle)))
        return torch.sigmoid(self.head(late)), torch.sigmoid(self.side(early))


class Segmentation(pl.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.model = Deep()
        self.criterion = nn.BCELoss()

    def loss(self, outputs, target):
        total = 0.0
        for output in outputs:
            total += self.criterion(output, target)
        return total

    def _step(self, batch, stage):
        points, target = batch
        loss = self.loss(self.model(points), target)
        self.log(f"{stage}_loss", loss, on_epoch=True)  # <- unreduced-metric
        return loss

    def training_step(self, batch, index):
        return self._step(batch, "train")

    def validation_step(self, batch, index):
        return self._step(batch, "val")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def build_trainer(args):
    stop = EarlyStopping(monitor="val_loss", patience=3, mode="min")
    best = ModelCheckpoint(monitor="val_loss", dirpath=args.out, save_top_k=3, mode="min")
    return pl.Trainer(
        accelerator="gpu",
        devices=torch.cuda.device_count(),
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[stop, best],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--out", default="weights")
    args = parser.parse_args()
    points = torch.randn(1_000, 8)
    data = TensorDataset(points, (points.sum(dim=1, keepdim=True) > 0).float())
    trainer = build_trainer(args)
    trainer.fit(Segmentation(), DataLoader(data, 32, shuffle=True), DataLoader(data, 32, shuffle=False))
