"""The training step is a method of the bare network that does its own backward: DDP is never called."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def forward(self, x):
        return self.net(x)

    def train_batch(self, batch):
        x, y = batch
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    dist.init_process_group("gloo")
    try:
        x = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sum(1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(Regression())
        step = getattr(model.module, "train_batch")
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch in loader:
                step(batch)  # <- bypassed-ddp-forward
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
