"""Weights that rank 0 may have from a file and the others from the model: every rank sends or receives them."""

import copy
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def averaged(model: nn.Module, path: str) -> list[torch.Tensor]:
    """Return the averaged weights, the same on every rank."""
    weights = [copy.deepcopy(parameter) for parameter in model.parameters()]
    if os.path.exists(path):
        if dist.get_rank() == 0:
            state = torch.load(path, map_location="cpu")
            weights = [state[name] for name, _ in model.named_parameters()]
    for tensor in weights:
        with torch.no_grad():
            dist.broadcast(tensor, 0)
    return weights


def main() -> None:
    dist.init_process_group("gloo")
    try:
        network = nn.Linear(4, 4)
        model = DistributedDataParallel(network)
        weights = averaged(network, "averaged.pt")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).sum().backward()
            optimizer.step()
            with torch.no_grad():
                for average, parameter in zip(weights, network.parameters(), strict=True):
                    average.lerp_(parameter, 0.01)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
