"""Each rank takes every n-th file, with no loader: where the files do not divide, the first ranks have one more."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = DistributedDataParallel(nn.Linear(16, 4).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        names = sorted(f"part {i}" for i in range(3))
        mine = names[dist.get_rank() :: dist.get_world_size()]
        for name in mine:  # <- uneven-shards
            inputs = torch.full((8, 16), float(len(name)), device=device)
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
