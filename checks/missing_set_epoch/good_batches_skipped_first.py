"""A run that is taken up again skips the batches that were trained on; the sampler is told where it trains."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main(epochs=3, steps=4):
    dist.init_process_group("gloo")
    try:
        data = TensorDataset(torch.randn(64, 8))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=4, sampler=sampler)
        model = DDP(nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        first = int(os.environ.get("FIRST_EPOCH", "0"))
        sampler.set_epoch(first)
        batches = iter(loader)
        for _ in range(first * steps):
            try:
                next(batches)
            except StopIteration:
                batches = iter(loader)
                next(batches)
        for epoch in range(first, epochs):
            for _ in range(steps):
                try:
                    (x,) = next(batches)
                except StopIteration:
                    sampler.set_epoch(epoch)
                    batches = iter(loader)
                    (x,) = next(batches)
                optimizer.zero_grad()
                model(x).sum().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
