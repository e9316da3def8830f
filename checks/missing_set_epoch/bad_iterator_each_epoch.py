"""Each epoch makes its iterator by hand; another training loop makes a new one whenever the last is used up."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def by_epochs(model, optimizer, loader, epochs):
    for _ in range(epochs):
        batches = iter(loader)  # <- missing-set-epoch
        for _ in range(len(loader)):
            (x,) = next(batches)
            optimizer.zero_grad()
            model(x.cuda()).sum().backward()
            optimizer.step()


def by_steps(model, optimizer, loader, steps):
    batches = iter(loader)
    for _ in range(steps):
        try:
            (x,) = next(batches)
        except StopIteration:
            batches = iter(loader)  # <- missing-set-epoch
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
        first = DataLoader(data, batch_size=16, sampler=DistributedSampler(data))
        second = DataLoader(data, batch_size=32, sampler=DistributedSampler(data))
        by_epochs(model, optimizer, first, 3)
        by_steps(model, optimizer, second, 100)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
