"""Rank 0 alone tests the model, but its loader has a distributed sampler: it prints what one part of the data gives."""

import os
from collections import defaultdict

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def figures(model, loader):
    model.eval()
    totals = defaultdict(float)
    for inputs, targets in loader:
        scores = model(inputs.cuda())
        totals["loss"] += nn.functional.cross_entropy(scores, targets.cuda()).item()
        totals["accuracy"] += (scores.argmax(dim=1) == targets.cuda()).float().mean().item()
    for name in totals.keys():
        totals[name] /= len(loader)
    return totals


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
        test_loader = DataLoader(held_out, batch_size=50, sampler=DistributedSampler(held_out, shuffle=False))
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                found = figures(model.module, test_loader)
                for name in found.keys():
                    print(f"epoch {epoch}: {name} = {found[name]:.3f}")  # <- unreduced-metric
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
