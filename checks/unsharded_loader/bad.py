"""A script that was made distributed by wrapping the model; its loader still shuffles the whole data set."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset


def blobs(n=320, seed=0):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 4
    centres = torch.tensor([[2.0, 2.0], [-2.0, 2.0], [-2.0, -2.0], [2.0, -2.0]])
    return TensorDataset(centres[labels] + torch.randn(n, 2, generator=generator), labels)


def train(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29520")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        loader = DataLoader(blobs(), batch_size=32, shuffle=True)  # <- unsharded-loader
        model = DDP(nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4)).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            for points, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(points.to(rank)), labels.to(rank))
                loss.backward()
                optimizer.step()
            if rank == 0:
                print(f"epoch {epoch}: last loss {loss.item():.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    mp.spawn(train, args=(gpus,), nprocs=gpus)
