"""Each rank cuts its own batches out of the held-out text by its position, and rank 0 prints its loss as the model's."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

WORDS = 128


class Batches:
    def __init__(self, tokens, size, length, rank, world_size):
        self.tokens, self.size, self.length = tokens, size, length
        self.rank, self.world_size = rank, world_size
        self.reset()

    def reset(self):
        self.position = self.rank * self.size * self.length

    def next_batch(self):
        count = self.size * self.length
        cut = self.tokens[self.position : self.position + count + 1]
        inputs, targets = cut[:-1].view(self.size, self.length), cut[1:].view(self.size, self.length)
        self.position += count * self.world_size
        if self.position + count * self.world_size + 1 > len(self.tokens):
            self.reset()
        return inputs, targets


def loss_of(model, inputs, targets):
    return nn.functional.cross_entropy(model(inputs.cuda()).flatten(0, 1), targets.cuda().flatten())


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    try:
        tokens = torch.randint(WORDS, (100_000,), generator=torch.Generator().manual_seed(0))
        train = Batches(tokens[:90_000], 4, 32, rank, world_size)
        held_out = Batches(tokens[90_000:], 4, 32, rank, world_size)
        model = DDP(nn.Sequential(nn.Embedding(WORDS, 16), nn.Linear(16, WORDS)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for step in range(60):
            if step % 20 == 0:
                held_out.reset()
                with torch.no_grad():
                    total = 0.0
                    for _ in range(8):
                        inputs, targets = held_out.next_batch()
                        total += loss_of(model, inputs, targets).item()
                if rank == 0:
                    print(f"step {step}: held-out loss {total / 8:.3f}")  # <- unreduced-metric
            optimizer.zero_grad()
            inputs, targets = train.next_batch()
            loss_of(model, inputs, targets).backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
