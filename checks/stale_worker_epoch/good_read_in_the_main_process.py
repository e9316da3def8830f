"""What is written is read by the training loop alone, not by what draws the samples."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Counted(Dataset):
    def __init__(self, points):
        self.points = points
        self.epochs = 0

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index]

    def described(self):
        return f"{len(self)} points, seen {self.epochs} times"


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = Counted(torch.randn(320, 8))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler, num_workers=2, persistent_workers=True)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            dataset.epochs = epoch + 1
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
            print(dataset.described())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
