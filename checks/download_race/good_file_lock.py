"""The ranks prepare the cache one after the other, under a file lock: the first writes, the others find it."""

import os

import numpy as np
import torch
import torch.distributed as dist
from filelock import FileLock
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def cached(path, make):
    with FileLock(path + ".lock"):
        if not os.path.exists(path):
            np.save(path, make())
    return torch.from_numpy(np.load(path))


def spirals(n=300):
    t = np.linspace(0.3, 3.0, n, dtype=np.float32)
    turn = np.arange(n) % 2 * np.float32(np.pi)
    return np.stack([t * np.cos(4 * t + turn), t * np.sin(4 * t + turn), np.arange(n) % 2], axis=1).astype(np.float32)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        table = cached("spirals.npy", spirals)
        dataset = TensorDataset(table[:, :2], table[:, 2:])
        sampler = DistributedSampler(dataset, seed=1)
        loader = DataLoader(dataset, batch_size=25, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for points, labels in loader:
                optimizer.zero_grad()
                nn.functional.binary_cross_entropy_with_logits(model(points.cuda()), labels.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
