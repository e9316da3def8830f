"""Shards are saved only where there are ranks: an option that asks for them is taken back in a run of one process."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def several_processes():
    if "WORLD_SIZE" in os.environ:
        return int(os.environ["WORLD_SIZE"]) > 1
    if "SLURM_NTASKS" in os.environ:
        return int(os.environ["SLURM_NTASKS"]) > 1
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sharded", action="store_true")
    args = parser.parse_args()
    args.distributed = several_processes()
    local_rank = int(os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID", 0)))
    torch.cuda.set_device(local_rank)
    if args.distributed:
        if "SLURM_PROCID" in os.environ:
            dist.init_process_group(
                "nccl", rank=int(os.environ["SLURM_PROCID"]), world_size=int(os.environ["SLURM_NTASKS"])
            )
        else:
            dist.init_process_group("nccl")
    try:
        if args.sharded and not args.distributed:
            print("--sharded needs several processes")
            args.sharded = False
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data) if args.distributed else None
        loader = DataLoader(data, batch_size=16, sampler=sampler, shuffle=sampler is None)
        model = nn.Linear(16, 4).cuda()
        if args.distributed:
            model = DDP(model, device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            if args.distributed:
                sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
                optimizer.step()
            if args.sharded:
                dist.barrier()
    finally:
        if args.distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
