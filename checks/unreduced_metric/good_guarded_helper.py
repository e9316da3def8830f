"""A helper that reduces where there is a group; a meter that is synchronised."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def distributed():
    return dist.is_available() and dist.is_initialized()


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n):
        self.total += value * n
        self.count += n

    def synchronize(self):
        if not distributed():
            return
        numbers = torch.tensor([self.total, self.count], dtype=torch.float64, device="cuda")
        dist.barrier()
        dist.all_reduce(numbers)
        self.total, self.count = numbers.tolist()

    def __str__(self):
        return f"{self.total / max(self.count, 1):.4f}"


def evaluate(model, loader):
    meter = Meter()
    model.eval()
    with torch.no_grad():
        for i, (inputs, targets) in enumerate(loader):
            meter.update(nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).item(), len(targets))
            if i % 10 == 0:
                print("so far", meter)
    meter.synchronize()
    return meter


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(1_001, 8, generator=torch.Generator().manual_seed(0))
        labels = (points.sum(dim=1) > 0).long()
        train = TensorDataset(points[:900], labels[:900])
        held_out = TensorDataset(points[900:], labels[900:])
        sampler = DistributedSampler(train)
        train_loader = DataLoader(train, batch_size=30, sampler=sampler)
        test_sampler = DistributedSampler(held_out, shuffle=False, drop_last=True)
        test_loader = DataLoader(held_out, batch_size=50, sampler=test_sampler)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            print(f"epoch {epoch}: loss {evaluate(model, test_loader)}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
