"""A RandomSampler with one seed on all ranks: each trains on the same batches in the same order."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


def train_epoch(model, loader, optimizer, scheduler):
    losses = []
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs.cuda()), targets.cuda())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step(sum(losses) / len(losses))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(640, 8, generator=torch.Generator().manual_seed(0))
        data = TensorDataset(points, points.sum(dim=1, keepdim=True))
        torch.manual_seed(1)
        loader = DataLoader(data, sampler=RandomSampler(data), batch_size=20)  # <- unsharded-loader
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        for epoch in range(6):
            train_epoch(model, loader, optimizer, scheduler)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
