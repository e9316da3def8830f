"""Every rank packs the samples into an array on disk where it is missing, and maps it."""

import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Samples(Dataset):
    def __init__(self, root):
        name = os.path.join(root, "samples.bin")
        if not os.path.exists(name):
            rows = np.loadtxt(os.path.join(root, "samples.csv"), delimiter=",", dtype="float32")
            packed = np.memmap(name, dtype="float32", mode="w+", shape=rows.shape)  # <- download-race
            packed[:] = rows
            packed.flush()
        self.rows = np.memmap(name, dtype="float32", mode="r").reshape(-1, 8)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.from_numpy(self.rows[index].copy())


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    dataset = Samples("data")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    try:
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for samples in loader:
                optimizer.zero_grad()
                model(samples.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
