"""Only an interruption is handled: every other exception leaves with the group still open."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(local_rank):
    model = DDP(nn.Linear(8, 2).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(local_rank)
    for _ in range(60):
        optimizer.zero_grad()
        model(torch.randn(16, 8, generator=generator).cuda()).square().mean().backward()
        optimizer.step()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
    try:
        train(local_rank)
    except KeyboardInterrupt:
        dist.destroy_process_group()
        raise
    dist.destroy_process_group()  # <- unprotected-destroy


if __name__ == "__main__":
    main()
