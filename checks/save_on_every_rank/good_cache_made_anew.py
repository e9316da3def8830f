"""A cache of labels that the first rank makes where it is missing or stale; the others come when it is there."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

FILES = [__file__]


@contextmanager
def first_rank_first(rank):
    if rank != 0:
        dist.barrier()
    yield
    if rank == 0:
        dist.barrier()


class Labels:
    def __init__(self, path="labels.cache"):
        if os.path.isfile(path):
            cache = torch.load(path)
            if cache["hash"] != self.hash():
                cache = self.made(path)
        else:
            cache = self.made(path)
        self.labels = cache["labels"]

    def hash(self):
        return sum(os.path.getsize(file) for file in FILES)

    def made(self, path):
        cache = {"hash": self.hash(), "labels": [len(file) for file in FILES]}
        torch.save(cache, path)
        return cache


def main():
    dist.init_process_group("gloo")
    try:
        with first_rank_first(dist.get_rank()):
            labels = Labels()
        model = DDP(nn.Linear(1, 1))
        model(torch.tensor([[float(one)] for one in labels.labels])).sum().backward()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
