"""setup() and cleanup() around the work, as the tutorials write it: cleanup() is not reached when the work fails."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def setup(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29561")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


def cleanup():
    dist.destroy_process_group()  # <- unprotected-destroy


def demo_basic(rank, world_size):
    setup(rank, world_size)
    x = torch.randn(200, 10, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.tanh())
    sampler = DistributedSampler(dataset)
    ddp_model = DDP(nn.Sequential(nn.Linear(10, 10), nn.Tanh()).to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(ddp_model.parameters(), lr=0.05)
    loader = DataLoader(dataset, batch_size=20, sampler=sampler)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(ddp_model(inputs.to(rank)), labels.to(rank)).backward()
            optimizer.step()
    cleanup()


if __name__ == "__main__":
    world_size = torch.cuda.device_count()
    mp.spawn(demo_basic, args=(world_size,), nprocs=world_size)
