"""Only rank 0 computes the new centres; the broadcast that spreads them is called by every rank."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def choose_centres(points, count, rank):
    centres = torch.empty(count, points.shape[1], device=rank)
    if rank == 0:
        picked = torch.randperm(len(points))[:count]
        centres.copy_(points[picked])
    dist.broadcast(centres, src=0)
    return centres


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29642")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        points = torch.randn(120, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(points)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=15, sampler=sampler)
        model = DDP(nn.Linear(3, 4).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            centres = choose_centres(points, 4, rank)
            for (batch,) in loader:
                batch = batch.to(rank)
                nearest = torch.cdist(batch, centres).argmin(dim=1)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(batch), nearest).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    mp.spawn(worker, args=(gpus,), nprocs=gpus)
