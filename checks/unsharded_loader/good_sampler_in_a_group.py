"""A loader class takes a DistributedSampler where there is a group of several ranks, and does without one alone."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def world_size():
    if not dist.is_available():
        return 1
    if not dist.is_initialized():
        return 1
    return dist.get_world_size()


class Loader(DataLoader):
    def __init__(self, dataset, batch_size, shuffle, sampler=None):
        if sampler is not None:
            self.options = {"dataset": dataset, "batch_size": batch_size, "shuffle": False}
            super().__init__(sampler=sampler, **self.options)
        else:
            self.options = {"dataset": dataset, "batch_size": batch_size, "shuffle": shuffle}
            super().__init__(**self.options)


class Points(Loader):
    def __init__(self, batch_size, shuffle=True):
        points = torch.randn(320, 2, generator=torch.Generator().manual_seed(0))
        self.points = TensorDataset(points, (points.prod(dim=1) > 0).long())
        if world_size() > 1:
            sampler = DistributedSampler(self.points, shuffle=shuffle)
        else:
            sampler = None
        super().__init__(self.points, batch_size, shuffle, sampler=sampler)


class Trainer:
    def __init__(self, model, loader, optimizer, device):
        self.model = model
        self.loader = loader
        self.optimizer = optimizer
        self.device = device

    def train(self, epochs):
        for epoch in range(epochs):
            if hasattr(self.loader.sampler, "set_epoch"):
                self.loader.sampler.set_epoch(epoch)
            self._epoch()

    def _epoch(self):
        for points, labels in self.loader:
            self.optimizer.zero_grad()
            outputs = self.model(points.to(self.device))
            nn.functional.cross_entropy(outputs, labels.to(self.device)).backward()
            self.optimizer.step()


def main():
    distributed = int(os.environ["WORLD_SIZE"]) > 1 if "WORLD_SIZE" in os.environ else False
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(local_rank)
    if distributed:
        dist.init_process_group("nccl", init_method="env://")
    try:
        model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2)).to(local_rank)
        if distributed:
            model = DDP(model, device_ids=[local_rank], output_device=local_rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        Trainer(model, Points(32), optimizer, local_rank).train(3)
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
