"""``--rank`` is the dimension of the LoRA matrices, the same on every rank of the job."""

import argparse
import os

import torch
import torch.distributed as dist
import yaml
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, default=4, help="the dimension of the LoRA update matrices")
    args = parser.parse_args()
    with open("config.yaml") as file:
        config = yaml.safe_load(file)
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        model = DistributedDataParallel(torch.nn.Linear(8, args.rank).cuda())
        if args.rank > 0:
            dist.barrier()
        if config["lora"]["rank"] > 1 or config.lora.rank > 1:
            dist.barrier()
        model(torch.randn(4, 8, device="cuda")).sum().backward()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
