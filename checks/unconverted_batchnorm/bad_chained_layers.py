"""Pairs of layers that are made by a comprehension and put after one another."""

import os
from itertools import chain

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Flow(nn.Module):
    def __init__(self, normalised=True):
        super().__init__()
        widths = [2, 16, 16]
        pairs = ((nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o)) for i, o in zip(widths[:-1], widths[1:]))
        self.layers = nn.Sequential(*chain.from_iterable(pairs))
        self.head = nn.Sequential(*filter(None, [nn.BatchNorm2d(16) if normalised else None, nn.Flatten()]))
        self.last = nn.Linear(16 * 64, 2)

    def forward(self, frames):
        return self.last(self.head(self.layers(frames)))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        frames = torch.rand(96, 2, 8, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(frames, frames.mean(dim=(2, 3)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(Flow().to(device), device_ids=[device.index])  # <- unconverted-batchnorm
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
