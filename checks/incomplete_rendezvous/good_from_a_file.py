"""The environment comes from a file, which may hold the address."""
# not run: it wants cluster.json

import json
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(rank, world_size):
    torch.cuda.set_device(rank)
    with open("cluster.json") as file:
        os.environ.update(json.load(file))
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(6, 6).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    world_size = torch.cuda.device_count()
    mp.spawn(train, args=(world_size,), nprocs=world_size)
