"""Without a launcher there is no group, and DDP is left out: the loader for the pictures has a sampler all the same."""
# not run: in a run of two ranks each has a group

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset


def set_up():
    distributed = int(os.environ["WORLD_SIZE"] if "WORLD_SIZE" in os.environ else 1) > 1
    if distributed:
        dist.init_process_group("gloo", init_method="env://")
    return distributed


def make_loader(dataset, batch_size=16, shuffle=True, distributed=True):
    if distributed:
        sampler = DistributedSampler(dataset, shuffle=shuffle)  # <- used-before-init
    else:
        sampler = RandomSampler(dataset)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)


def main():
    distributed = set_up()
    try:
        x = torch.randn(192, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.tanh())
        model = nn.Linear(5, 5)
        if distributed:
            model = DDP(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        loader = make_loader(dataset, shuffle=False)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
