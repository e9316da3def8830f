"""What starts the workers tells each its part, of all workers of all ranks."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Rows(IterableDataset):
    """The rows of a table, one after the other."""

    def __init__(self, table):
        self.table = table

    def __iter__(self):
        for row in self.table:
            yield row


def take_part(worker):
    info = get_worker_info()
    workers = info.num_workers
    first = int(os.environ["RANK"]) * workers + worker
    info.dataset.table = info.dataset.table[first :: int(os.environ["WORLD_SIZE"]) * workers]


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        table = torch.arange(2_560.0).remainder(7).view(320, 8)
        loader = DataLoader(Rows(table), batch_size=20, num_workers=2, worker_init_fn=take_part)
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
