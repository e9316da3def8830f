"""The function that takes a step returns without one for a NaN."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=20):
    generator = torch.Generator().manual_seed(6)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def take_step(model, optimizer, batch):
    features, target = (part.cuda() for part in batch)
    loss = nn.functional.mse_loss(model(features), target)
    if torch.isnan(loss).any():
        return None
    optimizer.zero_grad()
    loss.backward()  # <- rank-divergent-backward
    optimizer.step()
    return loss.item()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(20, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for batch in loader:
                take_step(model, optimizer, batch)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
