"""A prefetcher gives None when its loader has come to its end: every rank has as many batches."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=24):
    generator = torch.Generator().manual_seed(9)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


class Prefetcher:
    def __init__(self, loader):
        self.batches = iter(loader)

    def next(self):
        try:
            return next(self.batches)
        except StopIteration:
            return None, None


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
        for epoch in range(3):
            sampler.set_epoch(epoch)
            batches = Prefetcher(loader)
            features, target = batches.next()
            while features is not None:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
                features, target = batches.next()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
