"""The spawned function sets the group up at the default port; what the configuration has comes too late for that."""

import json
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def join(port=40113, rank=None, world_size=None):
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(port)  # <- hard-coded-port
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    return rank, world_size


def train(settings):
    rank, _ = join(settings["port"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.cumsum(dim=1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    model = DDP(nn.Linear(6, 6).to(device), device_ids=[device])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()


def start(rank, world_size, settings):
    join(rank=rank, world_size=world_size)
    try:
        train(settings)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        settings = json.load(file)
    world_size = torch.cuda.device_count()
    mp.spawn(start, args=(world_size, settings), nprocs=world_size)
