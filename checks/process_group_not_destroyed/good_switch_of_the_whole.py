"""An option that is off by default makes the run distributed: without it nothing is wrapped, and no DDP run is left."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--no-cleanup", dest="cleanup", action="store_false", default=True)
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    if args.distributed:
        dist.init_process_group("nccl")
    try:
        model = nn.Linear(8, 2).to(device)
        if args.distributed:
            model = DDP(model, device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        generator = torch.Generator().manual_seed(int(os.environ.get("RANK", "0")))
        for _ in range(20):
            optimizer.zero_grad()
            model(torch.randn(16, 8, generator=generator).to(device)).square().mean().backward()
            optimizer.step()
    finally:
        if args.distributed and args.cleanup:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
