"""The batch is gone through in slices, and the last slice is averaged."""

import argparse
import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=384, columns=16):
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slice", type=int, default=2)
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
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                for start in range(0, len(features), args.slice):
                    last = start + args.slice >= len(features)
                    part = slice(start, start + args.slice)
                    with contextlib.nullcontext() if last else model.no_sync():
                        nn.functional.mse_loss(model(features[part].cuda()), target[part].cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
