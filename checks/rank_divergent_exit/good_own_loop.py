"""Rank 0 leaves a loop of its own in which nothing waits for anybody."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=20):
    generator = torch.Generator().manual_seed(8)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


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
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                for i, (features, target) in enumerate(loader):
                    with torch.no_grad():
                        error = nn.functional.mse_loss(model.module(features.cuda()), target.cuda())
                    if error.item() > 1.0 or i > 5:
                        print("look at batch", i)
                        break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
