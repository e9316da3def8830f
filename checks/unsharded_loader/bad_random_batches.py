"""Batches from a plain BatchSampler over a seeded RandomSampler: the same batches on every rank."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--seed", type=int, default=1234)


def train(args, device):
    generator = torch.Generator().manual_seed(args.seed)
    text = torch.randint(0, 40, (256, 12), generator=generator)
    order = RandomSampler(text, generator=generator)
    batches = BatchSampler(order, args.batch_size, drop_last=True)
    loader = DataLoader(TensorDataset(text), batch_sampler=batches)  # <- unsharded-loader
    autoencoder = nn.Sequential(nn.Embedding(40, 8), nn.Linear(8, 40)).to(device)
    autoencoder = DistributedDataParallel(autoencoder, device_ids=[device], output_device=device)
    optimizer = optim.RMSprop(autoencoder.parameters(), lr=1e-3)
    for _ in range(args.epochs):
        for (tokens,) in loader:
            tokens = tokens.to(device)
            loss = nn.functional.cross_entropy(autoencoder(tokens).flatten(0, 1), tokens.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group(backend="nccl", init_method="env://")
    try:
        train(parser.parse_args(), device)
    finally:
        dist.destroy_process_group()
