"""A DataParallel of the script's own, for one process with several GPUs: its forward calls the module it holds."""

# also: data-parallel
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel


class Balanced(DataParallel):
    """Gives all of a batch to the module when there is one GPU."""

    def forward(self, *inputs):
        if len(self.device_ids) <= 1:
            return self.module(*inputs)
        return super().forward(*inputs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--several-gpus", default="ddp", choices=("ddp", "dp"))
    options = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        network = nn.Linear(4, 4).to(device)
        if options.several_gpus == "ddp":
            model = DistributedDataParallel(network, device_ids=[device.index])
        else:
            model = Balanced(network)  # <- data-parallel
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(8, 4, device=device)).sum().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
