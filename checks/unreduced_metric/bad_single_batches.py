"""The only word of the validation is each rank's, of single batches."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    for i, (inputs, targets) in enumerate(loader):
        with torch.set_grad_enabled(optimizer is not None):
            loss = nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda())
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if i % 10 == 0:
            print(f"[{dist.get_rank()}] loss {loss.item():.4f}")  # <- unreduced-metric


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
            run_epoch(model, test_loader)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
