"""How many workers there are is in a file, where one is given; the default has two of them move samples to the GPU."""

import json
import os
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Points(Dataset):
    def __init__(self, points):
        self.points = points

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index].cuda()  # <- cuda-in-worker


@dataclass
class Options:
    batch: int = 20
    workers: int = 2

    @classmethod
    def read(cls, path):
        with open(path) as file:
            return cls(**json.load(file))


def main():
    options = Options.read(sys.argv[1]) if len(sys.argv) > 1 else Options()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = Points(torch.randn(320, 8))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(
            dataset, options.batch, sampler=sampler, num_workers=options.workers, multiprocessing_context="fork"
        )
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
