"""The stream invents its samples; the ranks' generators are not seeded alike."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset


class Walks(IterableDataset):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        for _ in range(self.length):
            yield torch.randn(8).cumsum(dim=0)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        loader = DataLoader(Walks(320), batch_size=20)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
