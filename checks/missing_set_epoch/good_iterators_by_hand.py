"""Iterators made by hand: told the epoch, a look at one batch, a sampler that counts, and one that is made once."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class CountingSampler(DistributedSampler):
    def __iter__(self):
        self.set_epoch(self.epoch + 1)
        return super().__iter__()


def train(model, optimizer, batches, steps):
    for _ in range(steps):
        (x,) = next(batches)
        optimizer.zero_grad()
        model(x.cuda()).sum().backward()
        optimizer.step()


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(256, 8))
        model = DistributedDataParallel(torch.nn.Linear(8, 1).cuda())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        sampler = DistributedSampler(data)
        told = DataLoader(data, batch_size=16, sampler=sampler)
        counted = DataLoader(data, batch_size=16, sampler=CountingSampler(data))
        once = DataLoader(data, batch_size=16, sampler=DistributedSampler(data))
        train(model, optimizer, iter(once), len(once))
        for epoch in range(3):
            sampler.set_epoch(epoch)
            train(model, optimizer, iter(told), len(told))
            train(model, optimizer, iter(counted), len(counted))
            (first,) = next(iter(once))
            print(first.shape, iter(once).__next__()[0].mean())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
