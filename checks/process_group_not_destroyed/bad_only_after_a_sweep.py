"""The group is destroyed after a sweep, and there only by the rank that is asked: an ordinary run leaves it open."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Search:
    """Tries several learning rates one after the other."""

    def __init__(self, rates, reporting):
        self.rates = rates
        self.reporting = reporting

    def run(self, function):
        for rate in self.rates:
            function(rate)
        if self.reporting:
            print("the search is over")
            dist.destroy_process_group()


def training_loop(rate, device):
    model = DDP(nn.Linear(8, 2).to(device), device_ids=[device.index])
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(20):
        optimizer.zero_grad()
        model(torch.randn(16, 8, generator=generator).to(device)).square().mean().backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")  # <- process-group-not-destroyed
    if args.sweep:
        search = Search([0.1, 0.01], reporting=dist.get_rank() == 0)
        search.run(lambda rate: training_loop(rate, device))
    else:
        training_loop(args.lr, device)


if __name__ == "__main__":
    main()
