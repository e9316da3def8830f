"""The group, the wrapper and what waits for the other ranks are one option."""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, model, optimizer, rank, ddp):
        self.ddp = ddp
        self.model = model
        self.optimizer = optimizer
        self.rank = rank

    def train(self, epochs):
        for epoch in range(epochs):
            loss = self.model(torch.randn(16, 8)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if self.ddp:
                dist.barrier()
            if self.rank == 0:
                print(epoch, "done")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ddp", action="store_true")
    args = parser.parse_args()
    rank = int(os.environ.get("RANK", 0))
    model = torch.nn.Linear(8, 1)
    if args.ddp:
        dist.init_process_group("gloo")
        model = DistributedDataParallel(model)
    try:
        Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, args.ddp).train(3)
    finally:
        if args.ddp:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
