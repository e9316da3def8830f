"""Batches are cut out of a buffer by hand, which each rank fills with what it has made itself."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Batches:
    def __init__(self, tokens, size, length):
        self.tokens, self.size, self.length = tokens, size, length
        self.position = 0

    def add(self, tokens):
        self.tokens[self.position : self.position + len(tokens)] = tokens

    def next(self):
        count = self.size * self.length
        part = self.tokens[self.position : self.position + count + 1]
        self.position += count
        if self.position + count + 1 > len(self.tokens):
            self.position = 0
        return part[:-1].view(self.size, self.length), part[1:].view(self.size, self.length)


def main():
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        tokens = torch.arange(40_000) % 97
        model = DDP(nn.Sequential(nn.Embedding(97, 32), nn.Linear(32, 97)).to(device), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        batches = Batches(tokens, size=8, length=64)
        for step in range(100):
            batches.add(torch.randint(97, (512,)))
            inputs, targets = batches.next()
            optimizer.zero_grad()
            scores = model(inputs.to(device))
            nn.functional.cross_entropy(scores.flatten(0, 1), targets.to(device).flatten()).backward()
            optimizer.step()
            if rank == 0 and step % 10 == 0:
                print(f"step {step} done")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
