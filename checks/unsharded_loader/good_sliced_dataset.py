"""The dataset itself is cut by rank, into parts of equal length, and shuffled locally."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset, TensorDataset


def shard(dataset, rank, world_size):
    """Return the samples of one rank; the remainder that does not divide evenly is left out."""
    usable = len(dataset) - len(dataset) % world_size
    return Subset(dataset, range(rank, usable, world_size))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        t = torch.linspace(0, 50, 321).unsqueeze(1)
        dataset = shard(TensorDataset(t / 50, torch.sin(t)), dist.get_rank(), dist.get_world_size())
        loader = DataLoader(dataset, batch_size=16, shuffle=True, drop_last=True)
        model = DDP(nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(3):
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
