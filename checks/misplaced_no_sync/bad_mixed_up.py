"""The two contexts are mixed up; how many micro-steps there are is in a file, where one is given."""

import contextlib
import json
import os
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=12):
    generator = torch.Generator().manual_seed(4)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


@dataclass
class Options:
    accumulate: int = 4
    lr: float = 0.01


def options():
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as file:
            return Options(**json.load(file))
    return Options()


def main():
    chosen = options()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(12, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=chosen.lr)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for i, (features, target) in enumerate(loader):
                update = (i + 1) % chosen.accumulate == 0 or i + 1 == len(loader)
                context = model.no_sync() if update else contextlib.nullcontext()
                with context:  # <- misplaced-no-sync
                    loss = nn.functional.mse_loss(model(features.cuda()), target.cuda())
                    (loss / chosen.accumulate).backward()
                if update:
                    optimizer.step()
                    optimizer.zero_grad()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
