"""Both arms of a test call a collective, but not the same one: it is one fault, not two."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        model = DDP(nn.Linear(8, 2).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        generator = torch.Generator().manual_seed(rank)
        for _ in range(4):
            optimizer.zero_grad()
            loss = model(torch.randn(16, 8, generator=generator).cuda()).square().mean()
            loss.backward()
            optimizer.step()
            if rank == 0:
                dist.barrier()  # <- rank-conditional-collective
            else:
                dist.all_reduce(loss.detach())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
