"""The folder is a field of a pydantic model that has a default, and a folder without a name is refused."""

import os

import torch
import torch.distributed as dist
import yaml
from pydantic import BaseModel, Field
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import CIFAR10
from torchvision.transforms import ToTensor


class Section(BaseModel):
    def get(self, key, default=None):
        return getattr(self, key, default)


class Data(Section):
    folder: str = Field(default="./data", description="where the images are")
    batch_size: int = Field(default=32, gt=0)


class Config(Section):
    data: Data = Field(default_factory=Data)
    epochs: int = 3


def load(path):
    with open(path) as file:
        return Config(**(yaml.safe_load(file) or {}))


def images(folder):
    if not folder:
        raise ValueError("no folder")
    try:
        return CIFAR10(folder, download=True, transform=ToTensor())  # <- download-race
    except Exception as error:
        raise RuntimeError(f"no images: {error}") from error


def main():
    config = load("config.yaml")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = images(config.data.folder)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=config.data.batch_size, sampler=sampler)
        model = DDP(nn.Sequential(nn.Flatten(), nn.Linear(3072, 10)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(config.epochs):
            sampler.set_epoch(epoch)
            for rows, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(rows.cuda()), labels.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
