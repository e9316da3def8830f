"""Batches are cut out of one text by hand: each rank begins at its own, and skips those of the others."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Batches:
    def __init__(self, tokens, size, length, rank, world_size):
        self.tokens, self.size, self.length = tokens, size, length
        self.rank, self.world_size = rank, world_size
        self.position = size * length * rank

    def next(self):
        count = self.size * self.length
        part = self.tokens[self.position : self.position + count + 1]
        self.position += count * self.world_size
        if self.position + count * self.world_size + 1 > len(self.tokens):
            self.position = count * self.rank
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
        batches = Batches(tokens, 8, 64, rank, dist.get_world_size())
        for step in range(100):
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
