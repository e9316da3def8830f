"""Every rank breaks at the same step, before any has come to its end."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset


class Part(Dataset):
    """The points of one rank."""

    def __init__(self, points, rank, ranks):
        self.points = points[rank::ranks]

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index]


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(321, 8, generator=torch.Generator().manual_seed(0))
        part = Part(points, dist.get_rank(), dist.get_world_size())
        loader = DataLoader(part, batch_size=20)
        most = len(points) // dist.get_world_size() // 20
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            for step, batch in enumerate(loader):
                if step == most:
                    break
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
