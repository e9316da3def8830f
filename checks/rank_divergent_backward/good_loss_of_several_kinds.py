"""What the loss is depends on the batch; whether it has a backward does not."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=20):
    generator = torch.Generator().manual_seed(6)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def overlap(output, target):
    both = (output * target).sum()
    either = output.sum() + target.sum()
    if either == 0:
        either = 2 * both
    return 1 - 2 * both / either


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(20, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                output = model(features.cuda())
                loss = overlap(output, target.cuda())
                if target.sum() > 0:
                    loss = loss + nn.functional.l1_loss(output, target.cuda())
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
