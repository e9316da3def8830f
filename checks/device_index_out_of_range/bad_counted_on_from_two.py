"""The GPUs 2 and 3 are made visible, where they are 0 and 1, and the ranks still count from 2 on."""

import os

os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    device = int(os.environ["LOCAL_RANK"]) + 2
    torch.cuda.set_device(device)  # <- device-index-out-of-range
    dist.init_process_group("nccl")
    try:
        model = DistributedDataParallel(nn.Linear(4, 4).cuda(device), device_ids=[device])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(8, 4, device=device)).sum().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
