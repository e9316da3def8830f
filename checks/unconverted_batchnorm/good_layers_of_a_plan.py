"""Layers that a list of widths plans; the branch that normalises is not taken."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


WIDTHS = [16, "pool", 32]


def make_layers(widths, normalised=False):
    layers, inputs = [], 2
    for width in widths:
        if width == "pool":
            layers += [nn.MaxPool2d(2)]
            continue
        conv = nn.Conv2d(inputs, width, 3, padding=1)
        if normalised:
            layers += [conv, nn.BatchNorm2d(width), nn.ReLU()]
        else:
            layers += [conv, nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers)


class Flow(nn.Module):
    def __init__(self, normalised=False):
        super().__init__()
        self.layers = make_layers(WIDTHS, normalised)
        self.head = nn.Linear(32, 2)

    def forward(self, frames):
        return self.head(self.layers(frames).mean((2, 3)))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        frames = torch.rand(96, 2, 8, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(frames, frames.mean(dim=(2, 3)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(Flow().to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch, flow in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(batch.to(device)), flow.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
