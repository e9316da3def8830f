"""Gradients that the program averages itself: BatchNorm of each rank sees its own batch, as under DDP."""

import torch
import torch.distributed as dist
from torch import nn


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


def main():
    dist.init_process_group("gloo")
    try:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 8)).sum().backward()
            average_gradients(model)  # <- unconverted-batchnorm
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
