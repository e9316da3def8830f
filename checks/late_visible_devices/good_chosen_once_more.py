"""A function that chooses the GPUs runs before CUDA does, and once more, for the evaluation, after it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def chosen(devices):
    os.environ["CUDA_VISIBLE_DEVICES"] = devices
    if not torch.cuda.is_available():
        raise RuntimeError(f"there is no GPU {devices}")
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def evaluated(model):
    device = chosen("0,1")
    model.eval()
    with torch.no_grad():
        return model(torch.randn(4, 8, device=device)).mean()


def main():
    device = chosen("0,1")
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        network = nn.Linear(8, 8).to(device)
        model = DistributedDataParallel(network, device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(4, 8, device=device)).sum().backward()
            optimizer.step()
        evaluated(network)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
