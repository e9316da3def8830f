"""A layer that adds its counts up over the ranks while it trains: rank 0 draws a sample from it in evaluation mode."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Codes(nn.Module):
    def __init__(self, number, width):
        super().__init__()
        self.book = nn.Parameter(torch.randn(number, width))
        self.register_buffer("used", torch.zeros(number))

    def forward(self, x):
        nearest = torch.cdist(x, self.book).argmin(dim=1)
        if self.training:
            counts = nn.functional.one_hot(nearest, len(self.book)).float().sum(dim=0)
            dist.all_reduce(counts)
            self.used.mul_(0.99).add_(counts, alpha=0.01)
        return x + self.book[nearest] - x.detach()


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.codes = nn.Linear(8, 4), Codes(16, 4)

    def forward(self, x):
        return self.codes(self.inner(x))


def main():
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.rand(512, 8, generator=torch.Generator().manual_seed(0)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=32, sampler=sampler)
        model = DistributedDataParallel(Coder().cuda(), device_ids=[gpu])
        optimizer = torch.optim.Adam(model.parameters())
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for (x,) in loader:
                optimizer.zero_grad()
                model(x.cuda()).square().mean().backward()
                optimizer.step()
            model.eval()
            if dist.get_rank() == 0:
                with torch.no_grad():
                    print(epoch, model.module(x.cuda())[:4])
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
