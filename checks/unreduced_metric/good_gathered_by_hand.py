"""A helper gathers any object; where there is one rank alone it returns that rank's."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def gather(value):
    if dist.get_world_size() == 1:
        return [value]
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, value)
    return every


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    rows = []
    for inputs, targets in loader:
        rows.extend((model(inputs.cuda()).argmax(dim=1) == targets.cuda()).tolist())
    hits = [hit for part in gather(rows) for hit in part]
    return sum(hits) / len(hits)


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
            share = accuracy(model, test_loader)
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: {share:.1%} of the test set")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
