"""The iterator gives None at its end and is made anew: every rank comes to it in the same round."""

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
        batches, steps = iter(loader), 0
        sampler.set_epoch(0)
        while steps < 10:
            batch = next(batches, None)
            if batch is None:
                sampler.set_epoch(steps)
                batches = iter(loader)
                continue
            features, target = batch
            optimizer.zero_grad()
            nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
            optimizer.step()
            steps += 1
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
