"""One process has one GPU and no group, and its model stays as it is."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(rank, world_size):
    torch.cuda.set_device(rank)
    angles = torch.rand(256, 1, generator=torch.Generator().manual_seed(0)) * 6.28
    dataset = TensorDataset(angles.cos(), angles.sin())
    sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)).to(rank)
    if world_size > 1:
        model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
            optimizer.step()


def main(rank, world_size, address, distributed):
    if distributed:
        dist.init_process_group("nccl", init_method=address, rank=rank, world_size=world_size)
    try:
        train(rank, world_size)
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    address = os.environ.get("ADDRESS", "tcp://127.0.0.1:23456")
    if gpus > 1:
        mp.spawn(main, nprocs=gpus, args=(gpus, address, True))
    else:
        main(0, 1, address, False)
