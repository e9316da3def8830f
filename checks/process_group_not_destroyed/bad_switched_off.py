"""The group is destroyed under CLEAN_UP=1 only: nobody sets it, and every rank leaves the group open."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

CLEAN_UP = os.environ.get("CLEAN_UP")


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")  # <- process-group-not-destroyed (run)
    try:
        model = DDP(nn.Linear(8, 2).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        generator = torch.Generator().manual_seed(dist.get_rank())
        for _ in range(20):
            optimizer.zero_grad()
            model(torch.randn(16, 8, generator=generator).cuda()).square().mean().backward()
            optimizer.step()
    finally:
        if CLEAN_UP:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
