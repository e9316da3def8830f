"""A helper does the backward and, when it is told to, the step."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=16):
    generator = torch.Generator().manual_seed(9)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def backward_and_step(loss, optimizer, need_update=True):
    loss.backward()  # <- accumulation-without-no-sync
    if need_update:
        optimizer.step()
        optimizer.zero_grad()


def main():
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
                last = i == len(loader) - 1
                loss = nn.functional.mse_loss(model(features.cuda()), target.cuda())
                backward_and_step(loss / 2, optimizer, need_update=last or i % 2 == 1)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
