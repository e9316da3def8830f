"""A transform inside the data set is told how strong to be; the workers have copies of it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Jitter:
    def __init__(self):
        self.strength = 0.0

    def __call__(self, point):
        return point + self.strength * torch.randn_like(point)


class Points(Dataset):
    def __init__(self, points, transform):
        self.points = points
        self.transform = transform

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.transform(self.points[index])


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = Points(torch.randn(320, 8), Jitter())
        sampler = DistributedSampler(dataset)
        options = {"num_workers": 2, "persistent_workers": True}
        loader = DataLoader(dataset, batch_size=20, sampler=sampler, **options)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            dataset.transform.strength = 0.1 * epoch  # <- stale-worker-epoch
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
