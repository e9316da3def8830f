"""start_processes with join=False by position, in a launcher function that returns at once."""

import os
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing import start_processes
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def run(rank, world_size, epochs):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29604")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        x = torch.randn(96, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.relu())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


def launch(function, gpus):
    start_processes(function, (gpus,), gpus, False, start_method="spawn")  # <- unjoined-spawn


if __name__ == "__main__":
    launch(partial(run, epochs=2), torch.cuda.device_count())
