"""Rank 0's settings are broadcast as an object before any rank has selected its GPU."""

import os
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def agree_on_settings():
    """Return rank 0's settings on every rank."""
    box = [{"seed": random.randrange(2**31), "width": 24}]
    dist.broadcast_object_list(box, src=0)  # <- no-device-selected
    return box[0]


def train(settings, device):
    x = torch.randn(256, 8, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.prod(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset, seed=settings["seed"])
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    width = settings["width"]
    model = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 1)).to(device)
    model = DDP(model, device_ids=[device.index])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()


if __name__ == "__main__":
    dist.init_process_group("nccl")
    try:
        settings = agree_on_settings()
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        train(settings, device)
    finally:
        dist.destroy_process_group()
