"""The loader's own sampler shuffles in a run of one process only, which has no group to sample for."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, TensorDataset


def batches_of(dataset, shuffle, ranks):
    sampler = DistributedSampler(dataset, shuffle=shuffle, drop_last=True) if ranks > 1 else RandomSampler(dataset)
    return DataLoader(dataset, batch_sampler=BatchSampler(sampler, batch_size=16, drop_last=True))


def main():
    distributed = False
    if "WORLD_SIZE" in os.environ:
        distributed = int(os.environ["WORLD_SIZE"]) > 1
    shuffle, sampler = True, None
    x = torch.rand(192, 3, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
    model = nn.Linear(3, 1)
    if distributed:
        dist.init_process_group("gloo")
        sampler = DistributedSampler(dataset)
        shuffle = False
        model = DDP(model)
    try:
        loader = batches_of(dataset, shuffle, int(os.environ.get("WORLD_SIZE", "1")))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            if distributed:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs), targets).backward()
                optimizer.step()
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
