# also: unconverted-batchnorm
"""Without a GPU nothing is converted."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Normed(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.enter = nn.Linear(16, 32)
        self.norm = nn.BatchNorm1d(32)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.norm(self.enter(x)).relu())


def main():
    device = torch.device("cpu")
    dist.init_process_group("gloo")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = Normed()
        if torch.cuda.is_available():
            model = nn.SyncBatchNorm.convert_sync_batchnorm(model).cuda()
        model = DDP(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
