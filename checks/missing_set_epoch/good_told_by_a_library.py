"""A function of a library gets the loader and the epoch: what it does with them is its own, and it tells the sampler."""

import os

import torch
import torch.distributed as dist
from lightning.fabric.utilities.data import _set_sampler_epoch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        angles = torch.rand(320, 1, generator=torch.Generator().manual_seed(0)) * 6.28
        dataset = TensorDataset(torch.cat([angles.cos(), angles.sin()], dim=1), angles)
        loader = DataLoader(dataset, batch_size=20, sampler=DistributedSampler(dataset))
        model = DDP(nn.Sequential(nn.Linear(2, 64), nn.GELU(), nn.Linear(64, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(4):
            _set_sampler_epoch(loader, epoch)
            for points, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(points.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
