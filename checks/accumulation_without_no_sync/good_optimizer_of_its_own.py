"""A program's own optimiser steps after every backward, around another one whose steps it takes."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Slow(torch.optim.Optimizer):
    """Takes the steps of another optimiser, and now and then goes back half of the way."""

    def __init__(self, inner, every=5):
        self.inner, self.every, self.taken = inner, every, 0
        super().__init__(inner.param_groups, {})
        self.slow = [[p.detach().clone() for p in group["params"]] for group in self.param_groups]

    @torch.no_grad()
    def step(self, closure=None):
        loss = self.inner.step(closure)
        self.taken += 1
        if self.taken % self.every == 0:
            for group, kept in zip(self.param_groups, self.slow, strict=True):
                for p, slow in zip(group["params"], kept, strict=True):
                    slow.lerp_(p, 0.5)
                    p.copy_(slow)
        return loss


def make_data(rows=384, columns=16):
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log-every", type=int, default=10)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = Slow(torch.optim.SGD(model.parameters(), lr=0.01))
        optimizer.zero_grad()
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for i, batch in enumerate(loader, start=1):
                features, target = (part.cuda() for part in batch)
                loss = nn.functional.l1_loss(model(features), target)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                if i % args.log_every == 0:
                    print(f"rank {dist.get_rank()}, batch {i}: {loss.item():.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
