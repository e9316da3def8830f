"""A process is the first where the launcher says nothing: one of several asks the launcher."""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true")
    args = parser.parse_args()
    try:
        args.local_rank = int(os.environ["LOCAL_RANK"])
    except KeyError:
        args.local_rank = 0
    return args


def main():
    args = get_args()
    torch.cuda.set_device(args.local_rank)
    model = torch.nn.Linear(4, 1).cuda()
    if args.distributed:
        dist.init_process_group("nccl")
        model = DDP(model, device_ids=[args.local_rank])
    try:
        for epoch in range(10):
            loss = model(torch.randn(4, 4).cuda()).sum()
            loss.backward()
            if args.local_rank == 0:
                torch.save(model.state_dict(), "model.pt")
    finally:
        if args.distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
