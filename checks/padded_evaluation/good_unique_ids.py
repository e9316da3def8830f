"""Results are gathered by the sample's number, so that a copy overwrites what it copies."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def results(model, loader):
    model.eval()
    found = {}
    for numbers, inputs, targets in loader:
        right = model(inputs.cuda()).argmax(dim=1) == targets.cuda()
        found.update(zip(numbers.tolist(), right.tolist(), strict=True))
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, found)
    return {number: right for part in every for number, right in part.items()}


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
        numbered = TensorDataset(torch.arange(101), *held_out.tensors)
        test_loader = DataLoader(numbered, batch_size=50, sampler=DistributedSampler(numbered, shuffle=False))
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            found = results(model, test_loader)
            if dist.get_rank() == 0:
                print("accuracy", sum(found.values()) / len(found))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
