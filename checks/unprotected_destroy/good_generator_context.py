"""A generator context manager whose finally block runs when the body raises; spawned ranks enter it one call deep."""

import contextlib
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@contextlib.contextmanager
def group(rank, world_size, url):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=url, rank=rank, world_size=world_size)
    try:
        yield torch.device("cuda", rank)
    finally:
        dist.destroy_process_group()


def fit(device):
    x = torch.randn(160, 12, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.amax(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(nn.Linear(12, 1).to(device), device_ids=[device.index])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()


def worker(rank, world_size, url):
    with group(rank, world_size, url) as device:
        fit(device)


def main():
    url = os.environ.get("DIST_URL", "tcp://127.0.0.1:29562")
    world_size = torch.cuda.device_count()
    mp.spawn(worker, args=(world_size, url), nprocs=world_size)


if __name__ == "__main__":
    main()
