"""Blocks that take BatchNorm where no other layer is given, and the model gives them InstanceNorm."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Block(nn.Module):
    def __init__(self, channels, norm_layer=None):
        super().__init__()
        if norm_layer is None:
            norm_layer = nn.BatchNorm2d
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = norm_layer(channels, affine=True)

    def forward(self, x):
        return x + torch.relu(self.norm(self.conv(x)))


class Flow(nn.Module):
    def __init__(self, norm_layer=None):
        super().__init__()
        if norm_layer is None:
            norm_layer = nn.InstanceNorm2d
        self._norm_layer = norm_layer
        self.stem = nn.Conv2d(2, 16, 3, padding=1)
        self.layers = self._make_layer(Block, 3)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(16 * 64, 2))

    def _make_layer(self, block, blocks):
        norm_layer = self._norm_layer
        layers = [block(16, norm_layer)]
        for _ in range(1, blocks):
            layers.append(block(16, norm_layer=norm_layer))
        return nn.Sequential(*layers)

    def forward(self, frames):
        return self.head(self.layers(self.stem(frames)))


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
