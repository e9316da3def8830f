"""The script starts its ranks itself, and each fills the option in: no launcher has to pass it."""

# also: hard-coded-port
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def worker(local_rank, args):
    args.local_rank = local_rank
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:23456", rank=args.local_rank, world_size=args.gpus)
    try:
        dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--gpus", type=int, default=2)
    args = parser.parse_args()
    mp.spawn(worker, nprocs=args.gpus, args=(args,))
