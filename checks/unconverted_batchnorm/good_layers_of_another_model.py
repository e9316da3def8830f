"""The layers that are taken from a network have no BatchNorm among them, wherever else one may be."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16))
        self.second = nn.Sequential(nn.Linear(16, 16), nn.GroupNorm(4, 16))
        self.third = nn.Linear(16, 4)


class Embedding(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = nn.Sequential(*list(body.children())[:-1])

    def forward(self, x):
        return self.body(x)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = TensorDataset(torch.randn(128, 8))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        teacher = nn.BatchNorm1d(8).to(local_rank)
        model = DDP(Embedding(Body()).to(local_rank), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (x,) in loader:
                x = x.to(local_rank)
                with torch.no_grad():
                    target = teacher(x).mean()
                optimizer.zero_grad()
                (model(x).mean() - target).square().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
