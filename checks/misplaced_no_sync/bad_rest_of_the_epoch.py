"""The batches left over at the end of an epoch get a step of their own, but no averaging."""

import argparse
import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=40, columns=16):
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulate", type=int, default=2)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for i, (features, target) in enumerate(loader):
                whole = (i + 1) % args.accumulate == 0
                with contextlib.nullcontext() if whole else model.no_sync():  # <- misplaced-no-sync
                    loss = nn.functional.mse_loss(model(features.cuda()), target.cuda())
                    (loss / args.accumulate).backward()
                if whole or i + 1 == len(loader):
                    optimizer.step()
                    optimizer.zero_grad()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
