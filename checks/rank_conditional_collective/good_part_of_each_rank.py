"""A loop gives each rank the part that names it: whoever has none raises, and all come to the scatter."""

import os
import re

import torch
import torch.distributed as dist


def parts_of(text):
    return re.findall(r"rank:(\d+)=(\d+)", text)


def shard(table, parts):
    rank = dist.get_rank()
    mine = None
    for part in parts:
        if rank == int(part[0]):
            mine = torch.empty(int(part[1]), table.size(1))
    if mine is None:
        raise ValueError(f"rank {rank} has no part")
    pieces = list(table.chunk(dist.get_world_size())) if rank == 0 else None
    dist.scatter(mine, pieces, src=0)
    return mine


def main():
    dist.init_process_group("gloo")
    try:
        print(shard(torch.ones(8, 2), parts_of(os.environ.get("PARTS", "rank:0=4,rank:1=4"))).sum())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
