"""Whichever sampler the data and the options lead to, it is shuffled by the loader only where there is none."""

import argparse
import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--shuffle", type=int, default=1)
parser.add_argument("--deal-out", type=int, default=1)
parser.add_argument("--clips", type=int, default=0)
args = parser.parse_args()
dist.init_process_group("nccl")
try:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    data = TensorDataset(torch.randn(64, 2))
    distributed = dist.get_world_size() > 1
    sampler = None
    if args.clips:
        assert args.shuffle, "clips are drawn at random"
        sampler = RandomSampler(data)
        if distributed:
            sampler = DistributedSampler(data)
    elif distributed:
        if args.deal_out:
            sampler = DistributedSampler(data)
    loader = DataLoader(data, 8, shuffle=(sampler is None and args.shuffle), sampler=sampler)
finally:
    dist.destroy_process_group()
