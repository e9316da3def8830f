"""The rank that the launcher says is an option's default, asked before the group is told, beside another ``rank``."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

try:
    world_size = int(os.environ["WORLD_SIZE"])
    rank = int(os.environ["RANK"])
    local_rank = int(os.environ["LOCAL_RANK"])
except KeyError:
    world_size, rank, local_rank = 1, 0, 0


class Adapter(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.down = nn.Linear(width, rank)
        self.up = nn.Linear(rank, width)

    def forward(self, x):
        return x + self.up(self.down(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, default=rank)
    parser.add_argument("--world-size", type=int, default=world_size)
    args = parser.parse_args()
    if args.rank == 0:
        print("training on", args.world_size, "ranks")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    dist.init_process_group("gloo", rank=args.rank, world_size=args.world_size)
    try:
        model = DDP(Adapter(8, rank=2))
        model(torch.ones(4, 8)).sum().backward()
        if args.rank == 0:
            torch.save(model.module.state_dict(), "adapter.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
