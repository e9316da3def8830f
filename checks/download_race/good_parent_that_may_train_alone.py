"""The parent downloads before it starts the ranks; where there is one device it trains by itself."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms
from torchvision.datasets import MNIST


def run(rank, world_size, dataset):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29542")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank)
        loader = DataLoader(dataset, batch_size=64, sampler=sampler)
        model = DDP(nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)).to(rank))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for images, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images.to(rank)), labels.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


def main():
    world_size = torch.cuda.device_count()
    dataset = MNIST("data", train=True, download=True, transform=transforms.ToTensor())
    if world_size > 1:
        mp.spawn(run, args=(world_size, dataset), nprocs=world_size)
    else:
        run(0, 1, dataset)


if __name__ == "__main__":
    main()
