"""A stream over a stream, shuffled in a buffer: each rank still has all of it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset


class Rows(IterableDataset):
    """The rows of a table, one after the other."""

    def __init__(self, table):
        self.table = table

    def __iter__(self):
        for row in self.table:
            yield row


class Shuffled(IterableDataset):
    def __init__(self, source, size):
        self.source = source
        self.size = size

    def __iter__(self):
        buffer = []
        for row in self.source:
            buffer.append(row)
            if len(buffer) == self.size:
                yield from self._emptied(buffer)
        yield from self._emptied(buffer)

    def _emptied(self, buffer):
        buffer.reverse()
        while buffer:
            yield buffer.pop()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = Shuffled(Rows(torch.arange(2_560.0).remainder(7).view(320, 8)), size=16)
        loader = DataLoader(dataset, batch_size=20)  # <- unsharded-iterable-dataset
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
