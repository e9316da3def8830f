"""Lightning tells the sampler the epoch before each one, the script's own sampler too."""

import lightning as L
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Regression(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))

    def train_dataloader(self):
        x = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.argmax(dim=1))
        sampler = DistributedSampler(dataset, dist.get_world_size(), dist.get_rank())
        return DataLoader(dataset, batch_size=32, sampler=sampler)

    def training_step(self, batch, batch_idx):
        inputs, labels = batch
        return nn.functional.cross_entropy(self.network(inputs), labels)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


if __name__ == "__main__":
    trainer = L.Trainer(accelerator="gpu", devices=4, strategy="ddp", max_epochs=3, use_distributed_sampler=False)
    trainer.fit(Regression())
