"""The group is made where there is none yet, and destroyed where there is one."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def set_up():
    if not dist.is_initialized():
        dist.init_process_group(backend="gloo", init_method="env://")


def clean_up():
    if dist.is_initialized():
        dist.destroy_process_group()


def main():
    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if distributed:
        set_up()
    try:
        model = nn.Linear(4, 4)
        if distributed:
            model = DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).sum().backward()
            optimizer.step()
    finally:
        if distributed:
            clean_up()


if __name__ == "__main__":
    main()
