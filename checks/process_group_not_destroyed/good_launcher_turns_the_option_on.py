"""An option is off by default, and a helper turns it on where a launcher has started several ranks."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def set_up(args):
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        args.distributed = True
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
    return args


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true", help="set by the launcher")
    args = set_up(parser.parse_args())
    try:
        model = nn.Linear(8, 2).cuda()
        if dist.is_initialized():
            model = DDP(model, device_ids=[torch.cuda.current_device()])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        generator = torch.Generator().manual_seed(int(os.environ.get("RANK", "0")))
        for _ in range(20):
            optimizer.zero_grad()
            model(torch.randn(16, 8, generator=generator).cuda()).square().mean().backward()
            optimizer.step()
    finally:
        if args.distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
