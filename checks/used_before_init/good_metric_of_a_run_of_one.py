"""Without a launcher there is no group, and a stand-in for DDP; the metric is summed over the ranks where there are several."""
# not run: in a run of two ranks each has a group

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

_initialized = False


class NoDDP(nn.Module):
    def __init__(self, module, **_):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module(*args)


class Average:
    def __init__(self):
        self.count, self.total = 0, 0.0

    def update(self, value):
        self.count += 1
        self.total += value

    def synchronize(self):
        both = torch.tensor([self.count, self.total], dtype=torch.float64)
        if not _initialized:
            return
        dist.barrier()
        dist.all_reduce(both)
        self.count, self.total = int(both[0]), both[1].item()


def initialize():
    global _initialized
    if "RANK" not in os.environ:
        print("no launcher: one process")
        return
    dist.init_process_group("gloo")
    _initialized = True


def main():
    initialize()
    try:
        model = (DDP if _initialized else NoDDP)(nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        average = Average()
        for _ in range(3):
            loss = model(torch.randn(16, 8)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average.update(loss.item())
        average.synchronize()
        print(average.total / average.count)
    finally:
        if _initialized:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
