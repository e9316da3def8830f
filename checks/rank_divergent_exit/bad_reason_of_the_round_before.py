"""What the clock has said is looked at when the next epoch begins."""

import argparse
import os
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=20):
    generator = torch.Generator().manual_seed(6)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


@dataclass
class State:
    started: float
    reason: str | None = None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=float, default=8)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(20, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        state = State(started=time.time())
        for epoch in range(100):
            if state.reason is not None:
                break  # <- rank-divergent-exit
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
            if time.time() - state.started > 3600 * args.hours:
                state.reason = "time limit"
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
