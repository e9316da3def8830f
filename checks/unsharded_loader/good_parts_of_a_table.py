"""Each rank reads its own part of the files, into data sets that a data set of several holds by their names."""

import glob
import os
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, RandomSampler


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class Several(Dataset):
    def __init__(self, parts):
        self.parts = parts

    def __len__(self):
        return sum(len(part) for part in self.parts.values())

    def __getitem__(self, index):
        part = self.parts[list(self.parts)[index % len(self.parts)]]
        return part[index % len(part)]


def read(folder):
    files = sorted(glob.glob(os.path.join(folder, "*.pt")))
    rows = []
    for file in list(np.array_split(files, dist.get_world_size()))[dist.get_rank()]:
        rows.append(torch.load(file, map_location="cpu", weights_only=True))
    return torch.cat(rows) if rows else torch.zeros(8, 4)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        parts = {}
        for folder in sys.argv[1:] or ["data"]:
            parts[folder] = Rows(read(folder))
        data = Several(parts)
        loader = DataLoader(data, batch_size=4, sampler=RandomSampler(data, num_samples=32), drop_last=True)
        model = DDP(nn.Linear(4, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(2):
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
