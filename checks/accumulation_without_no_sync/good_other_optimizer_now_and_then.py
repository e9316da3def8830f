"""A second optimiser steps every other round, after a backward of its own."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=24):
    generator = torch.Generator().manual_seed(5)
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
        model = DDP(nn.Linear(24, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        head = DDP(nn.Linear(data.tensors[0].shape[1], 1).cuda(), device_ids=[local_rank])
        extra = torch.optim.SGD(head.parameters(), lr=0.1)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for i, (features, target) in enumerate(loader):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
                if i % 2 == 0:
                    extra.zero_grad()
                    nn.functional.mse_loss(head(features.cuda()), target.cuda()).backward()
                    extra.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
