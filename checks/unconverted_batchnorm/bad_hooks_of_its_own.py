"""A function that sends rank 0's state to the others, and has hooks sum the gradients: a replica without a wrapper."""

import torch
import torch.distributed as dist
from torch import nn


def replicated(module):
    for tensor in module.state_dict().values():
        dist.broadcast(tensor, 0)

    def average(gradient):
        dist.all_reduce(gradient)
        return gradient / dist.get_world_size()

    for param in module.parameters():
        param.register_hook(average)
    return module


def main():
    dist.init_process_group("gloo")
    try:
        model = replicated(nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)))  # <- unconverted-batchnorm
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 8)).sum().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
