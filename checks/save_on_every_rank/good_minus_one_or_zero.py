"""The rank is -1 without a launcher; the guard is ``rank in (-1, 0)``."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

RANK = int(os.getenv("RANK", "-1"))
LOCAL_RANK = int(os.getenv("LOCAL_RANK", "-1"))


def train(device):
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.argmin(dim=1))
    sampler = None if RANK == -1 else DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler, shuffle=sampler is None)
    model = nn.Linear(6, 6).to(device)
    if RANK != -1:
        model = DDP(model, device_ids=[LOCAL_RANK])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        if RANK != -1:
            loader.sampler.set_epoch(epoch)
        for inputs, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device)).backward()
            optimizer.step()
        if RANK in (-1, 0):
            network = model.module if isinstance(model, DDP) else model
            torch.save({"epoch": epoch, "model": network.state_dict()}, "last.pt")


if __name__ == "__main__":
    device = torch.device("cuda", max(LOCAL_RANK, 0))
    torch.cuda.set_device(device)
    try:
        if RANK != -1:
            dist.init_process_group("nccl", device_id=device)
        train(device)
    finally:
        if RANK != -1:
            dist.destroy_process_group()
