"""The options come out of a file into nested dataclasses, and one of them names the data set that is downloaded."""

import os
from dataclasses import dataclass, field, fields, is_dataclass
from typing import get_type_hints

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import yaml
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@dataclass
class DataOptions:
    name: str = "random"
    folder: str = "data"
    batch_size: int = 64


@dataclass
class Options:
    epochs: int = 2
    processes: int = 2
    data: DataOptions = field(default_factory=DataOptions)


def made_of(cls, given):
    hints = get_type_hints(cls)
    kwargs = {}
    for one in fields(cls):
        if one.name not in given:
            continue
        value = given[one.name]
        kwargs[one.name] = made_of(hints[one.name], value) if is_dataclass(hints[one.name]) else value
    return cls(**kwargs)


def dataset_of(options):
    if options.name == "random":
        return TensorDataset(torch.rand(512, 1, 28, 28), torch.randint(10, (512,)))
    if options.name == "mnist":
        from torchvision import datasets, transforms

        return datasets.MNIST(  # <- download-race
            options.folder, train=True, download=True, transform=transforms.ToTensor()
        )
    raise ValueError(options.name)


class Launcher:
    def __init__(self, processes):
        self.processes = processes

    def start(self, function, *args):
        mp.spawn(self._in_process, args=(function, args), nprocs=self.processes)

    def _in_process(self, rank, function, args):
        os.environ["MASTER_ADDR"] = "127.0.0.1"
        os.environ.setdefault("MASTER_PORT", "29541")
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", rank=rank, world_size=self.processes)
        try:
            function(rank, *args)
        finally:
            dist.destroy_process_group()


def train(rank, options):
    dataset = dataset_of(options.data)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=options.data.batch_size, sampler=sampler)
    model = DDP(nn.Sequential(nn.Flatten(), nn.Linear(784, 10)).to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images.to(rank)), labels.to(rank)).backward()
            optimizer.step()


if __name__ == "__main__":
    with open("train.yaml") as file:
        options = made_of(Options, yaml.safe_load(file) or {})
    Launcher(options.processes).start(train, options)
