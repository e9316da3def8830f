"""Accelerate shards the model: each of these backwards leaves a rank the sums of its own part, which it has to have."""

import argparse

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(accelerator, model, optimizer, loader, micro_steps):
    model.train()
    for step, (inputs, targets) in enumerate(loader, start=1):
        loss = nn.functional.mse_loss(model(inputs), targets)
        accelerator.backward(loss / micro_steps)
        if step % micro_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro-steps", type=int, default=4)
    args = parser.parse_args()
    accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())
    points = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(points, points.sum(dim=1, keepdim=True)), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(3):
        train_epoch(accelerator, model, optimizer, loader, args.micro_steps)


if __name__ == "__main__":
    main()
