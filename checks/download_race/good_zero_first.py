"""A context manager lets local rank 0 in first: the others wait before the block, and it waits for them after."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import CIFAR100
from torchvision.transforms import ToTensor

LOCAL_RANK = int(os.getenv("LOCAL_RANK", "-1"))


@contextmanager
def zero_first(local_rank):
    if local_rank not in (-1, 0):
        dist.barrier(device_ids=[local_rank])
    yield
    if local_rank == 0:
        dist.barrier(device_ids=[0])


def train(device):
    with zero_first(LOCAL_RANK):
        dataset = CIFAR100("data", transform=ToTensor(), download=True)
    sampler = DistributedSampler(dataset) if LOCAL_RANK != -1 else None
    loader = DataLoader(dataset, batch_size=32, shuffle=sampler is None, sampler=sampler)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 15 * 15, 100)).to(device)
    if LOCAL_RANK != -1:
        model = DDP(model, device_ids=[LOCAL_RANK])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images.to(device)), labels.to(device)).backward()
            optimizer.step()


if __name__ == "__main__":
    device = torch.device("cuda", max(LOCAL_RANK, 0))
    torch.cuda.set_device(device)
    try:
        if LOCAL_RANK != -1:
            dist.init_process_group("nccl", device_id=device)
        train(device)
    finally:
        if LOCAL_RANK != -1:
            dist.destroy_process_group()
