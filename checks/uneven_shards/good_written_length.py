"""The number of samples is written there, and divides by the numbers of ranks of a node."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset

SAMPLES = 320


def own_part(dataset):
    indices = range(dist.get_rank(), SAMPLES, dist.get_world_size())
    return Subset(dataset, indices)


def made_of(dataset, **options):
    return DataLoader(own_part(dataset), collate_fn=torch.stack, **options)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(SAMPLES, 8, generator=torch.Generator().manual_seed(0))
        loader = made_of(list(points), batch_size=20)
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
