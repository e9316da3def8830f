"""The weights are drawn by a function that is applied to the wrapped model, from one seed on every rank."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def initialise(layer):
    name = layer.__class__.__name__
    if name.find("Conv") != -1 or name.find("Linear") != -1:
        nn.init.normal_(layer.weight.data, 0.0, 0.02)
    elif isinstance(layer, nn.BatchNorm2d):
        nn.init.constant_(layer.bias.data, 0.0)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4)).to(device)
        model = DistributedDataParallel(network, device_ids=[device.index])
        torch.manual_seed(7)
        model.apply(initialise)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(4, 3, 8, 8, device=device)).sum().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
