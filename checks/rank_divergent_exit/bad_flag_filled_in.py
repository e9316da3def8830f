"""Rank 0 fills in a flag that is on every rank, and nothing sends it to the others."""

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


def main():
    held_out = torch.randn(64, 20)
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        stop = torch.zeros(1, device="cuda")
        best, bad = float("inf"), 0
        for epoch in range(100):
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                with torch.no_grad():
                    score = nn.functional.mse_loss(
                        model.module(held_out.cuda()), held_out.sum(1, keepdim=True).cuda()
                    ).item()
                best, bad = (score, 0) if score < best else (best, bad + 1)
                if bad > 5:
                    stop.fill_(1)
            if stop.item() == 1:
                break  # <- rank-divergent-exit
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
