"""Rank 0 alone counts the epochs without progress, and every rank looks at its own count."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=16):
    generator = torch.Generator().manual_seed(3)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


@torch.no_grad()
def evaluate(model, features):
    return nn.functional.mse_loss(model(features.cuda()), features.sum(1, keepdim=True).cuda()).item()


def main():
    held_out = torch.randn(64, 16)
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        best, bad = float("inf"), 0
        for epoch in range(100):
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                score = evaluate(model.module, held_out)
                if score < best:
                    best, bad = score, 0
                else:
                    bad += 1
            if bad > 5:
                break  # <- rank-divergent-exit
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
