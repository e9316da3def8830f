"""The iterator of each epoch is asked for its batches by ``__next__``, and its sampler is told the epoch."""

import os

import torch
import torch.distributed as dist
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
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(2, 64), nn.GELU(), nn.Linear(64, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            batches = iter(loader)
            for _ in range(len(loader)):
                points, targets = batches.__next__()
                optimizer.zero_grad()
                nn.functional.mse_loss(model(points.cuda()), targets.cuda()).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                print("finished epoch", epoch)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
