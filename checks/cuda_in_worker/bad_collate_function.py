"""The function that makes a batch of the samples runs in the workers too."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def batch_on_gpu(points):
    return torch.stack(points).to(f"cuda:{os.environ['LOCAL_RANK']}")  # <- cuda-in-worker


def made_of(points):
    sampler = DistributedSampler(points)
    return DataLoader(points, batch_size=20, sampler=sampler, num_workers=2, multiprocessing_context="fork", collate_fn=batch_on_gpu), sampler


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        loader, sampler = made_of(list(torch.randn(320, 8)))
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
