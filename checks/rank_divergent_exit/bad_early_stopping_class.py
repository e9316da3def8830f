"""The patience of each rank is counted on its own part of the validation data."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=384, columns=12):
    generator = torch.Generator().manual_seed(8)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def update(self, loss):
        if loss < self.best:
            self.best, self.bad = loss, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def evaluate(model, loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for features, target in loader:
            total += nn.functional.mse_loss(model(features.cuda()), target.cuda()).item()
    return total / len(loader)


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
        held_out = make_data()
        test_loader = DataLoader(held_out, batch_size=8, sampler=DistributedSampler(held_out, shuffle=False))
        stopping = EarlyStopping(patience=3)
        for epoch in range(50):
            sampler.set_epoch(epoch)
            model.train()
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
            if stopping.update(evaluate(model, test_loader)):
                break  # <- rank-divergent-exit
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
