"""The parent logs, the ranks that it starts do not."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import wandb
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29514")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        model = DDP(nn.Linear(4, 4).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(20):
            x = torch.randn(8, 4, generator=torch.Generator().manual_seed(step * world_size + rank)).to(rank)
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    wandb.init(project="linear")
    gpus = torch.cuda.device_count()
    mp.spawn(worker, args=(gpus,), nprocs=gpus)
    wandb.finish()
