"""A list has the context of each micro-step: the last one is averaged."""

import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=12):
    generator = torch.Generator().manual_seed(4)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


ACCUMULATE = 4


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(12, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            batches = iter(loader)
            for _ in range(len(loader) // ACCUMULATE):
                contexts = [model.no_sync() for _ in range(ACCUMULATE - 1)] + [contextlib.nullcontext()]
                for context in contexts:
                    features, target = next(batches)
                    with context:
                        loss = nn.functional.mse_loss(model(features.cuda()), target.cuda())
                        (loss / ACCUMULATE).backward()
                optimizer.step()
                optimizer.zero_grad()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
