"""A network is made of the layers of a pretrained one, which is taken out of the DataParallel that it was stored in."""

# also: data-parallel
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Pretrained(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 8)

    def forward(self, x):
        return self.second(self.first(x))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        stored = nn.DataParallel(Pretrained())  # <- data-parallel
        stored = stored.module
        self.first = stored.first
        self.second = stored.second
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.second(self.first(x)))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if distributed:
        dist.init_process_group("nccl", device_id=device)
    try:
        model = Network().to(device)
        if distributed:
            model = DDP(model, device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(8, 4, device=device)).sum().backward()
            optimizer.step()
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
