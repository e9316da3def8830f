"""A decorator runs the report on rank 0 only, and the report gathers from all ranks."""

import functools
import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main_process_only(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if dist.get_rank() == 0:
            return function(*args, **kwargs)

    return wrapper


@main_process_only
def report(epoch, predictions):
    parts = [torch.zeros_like(predictions) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, predictions)  # <- rank-conditional-collective
    print(f"epoch {epoch}: mean prediction {torch.cat(parts).mean().item():.4f}")


@contextmanager
def process_group():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        yield device
    finally:
        dist.destroy_process_group()


with process_group() as device:
    x = torch.randn(120, 5, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=15, sampler=sampler)
    model = DDP(nn.Linear(5, 1).to(device), device_ids=[device.index])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            predictions = model(inputs.to(device))
            optimizer.zero_grad()
            nn.functional.mse_loss(predictions, targets.to(device)).backward()
            optimizer.step()
        report(epoch, predictions.detach())
