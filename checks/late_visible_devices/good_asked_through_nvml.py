"""Looks around first with what does not initialise CUDA, then chooses the devices."""

import os

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    print(f"{torch.cuda.memory_allocated()} bytes are taken")
    if torch.cuda.is_available():
        os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    try:
        model = DistributedDataParallel(torch.nn.Linear(8, 1).cuda())
        model(torch.randn(4, 8, device="cuda")).sum().backward()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
