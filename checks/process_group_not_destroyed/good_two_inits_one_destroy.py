"""A platform test chooses between two init calls; the caller destroys whichever group there is."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def setup(rank, world_size):
    torch.cuda.set_device(rank)
    if sys.platform == "win32":
        address = "file:///{}/rendezvous".format(os.getcwd().replace("\\", "/"))
        dist.init_process_group("gloo", init_method=address, rank=rank, world_size=world_size)
    else:
        os.environ.setdefault("MASTER_ADDR", "localhost")
        os.environ.setdefault("MASTER_PORT", "29552")
        dist.init_process_group("nccl", rank=rank, world_size=world_size)


def train(rank):
    x = torch.randn(180, 2, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x @ torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=18, sampler=sampler)
    model = DDP(nn.Linear(2, 2, bias=False).to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
            optimizer.step()


def entry(rank, world_size):
    setup(rank, world_size)
    try:
        train(rank)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    size = torch.cuda.device_count()
    mp.spawn(entry, args=(size,), nprocs=size)
