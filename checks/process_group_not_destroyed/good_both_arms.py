# also: unprotected-destroy
"""Rank 0 saves before it destroys the group, the others destroy it at once: every rank does."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
    model = DDP(nn.Linear(8, 2).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(local_rank)
    for _ in range(60):
        optimizer.zero_grad()
        model(torch.randn(16, 8, generator=generator).cuda()).square().mean().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")
        dist.destroy_process_group()
    else:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
