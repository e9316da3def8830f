"""The stream is told its rank and keeps it; what draws from it looks at the workers alone."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __init__(self, table, rank, world_size):
        super().__init__()
        self.table = table
        self.rank, self.world_size = rank, world_size

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(self.table[first::step])


def made_of(table, batch_size=20):
    options = {"batch_size": batch_size, "num_workers": 2}
    return DataLoader(Lines(table, dist.get_rank(), dist.get_world_size()), **options)  # <- unsharded-iterable-dataset


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        loader = made_of(torch.arange(2_560.0).remainder(7).view(320, 8))
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
