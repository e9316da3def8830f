"""The function of one epoch raises for a bad loss, and who calls it catches that and goes on to the next."""

import math
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=20):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


class BadLossError(RuntimeError):
    pass


def train_one_epoch(model, loader, optimizer):
    for features, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(features.cuda()), target.cuda())
        if math.isnan(loss.item()):
            raise BadLossError("nan")  # <- rank-divergent-exit
        loss.backward()
        optimizer.step()


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
            try:
                train_one_epoch(model, loader, optimizer)
            except BadLossError as error:
                print("left out the rest of", error)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
