"""The stream is told its part when it is made."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset


class Rows(IterableDataset):
    def __init__(self, table, part, parts):
        self.rows = table[: len(table) // parts * parts][part::parts]

    def __iter__(self):
        return iter(self.rows)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        table = torch.arange(2_560.0).remainder(7).view(320, 8)
        loader = DataLoader(Rows(table, dist.get_rank(), dist.get_world_size()), batch_size=20)
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
