"""Batches are drawn at random by hand, and nothing seeds the generator: each process draws others."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def batch_of(tokens, size=8, length=64):
    starts = torch.randint(len(tokens) - length, (size,))
    inputs = torch.stack([tokens[start : start + length] for start in starts])
    targets = torch.stack([tokens[start + 1 : start + length + 1] for start in starts])
    return inputs, targets


def main():
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        tokens = torch.arange(40_000) % 97
        model = DDP(nn.Sequential(nn.Embedding(97, 32), nn.Linear(32, 97)).to(device), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for step in range(100):
            inputs, targets = batch_of(tokens)
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
