"""The group is made in any case and destroyed only with --ddp, which wraps the model too: without it it stays open."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ddp", type=int, default=0)
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")  # <- process-group-not-destroyed (run)
    try:
        model = nn.Linear(8, 2).to(device)
        if args.ddp:
            model = DDP(model, device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        generator = torch.Generator().manual_seed(dist.get_rank())
        for _ in range(20):
            optimizer.zero_grad()
            model(torch.randn(16, 8, generator=generator).to(device)).square().mean().backward()
            optimizer.step()
    finally:
        if args.ddp:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
