"""The layers of a network are kept by their names up to the last one that is asked for."""

import os
from collections import OrderedDict

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Body(nn.Module):
    def __init__(self, norm_layer=nn.BatchNorm1d):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(8, 16), norm_layer(16))
        self.second = nn.Sequential(nn.Linear(16, 16), norm_layer(16))
        self.third = nn.Linear(16, 4)


class Until(nn.ModuleDict):
    def __init__(self, body, last):
        layers = OrderedDict()
        for name, module in body.named_children():
            layers[name] = module
            if name == last:
                break
        super().__init__(layers)

    def forward(self, x):
        for layer in self.values():
            x = layer(x)
        return x


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = TensorDataset(torch.randn(128, 8))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(Until(Body(), "second").to(local_rank), device_ids=[local_rank])  # <- unconverted-batchnorm
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (x,) in loader:
                optimizer.zero_grad()
                model(x.to(local_rank)).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
