"""Accelerate is told how many batches come to a step, and averages in the last of them only."""

import argparse

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(accelerator, model, optimizer, loader, micro_steps):
    model.train()
    for step, (inputs, targets) in enumerate(loader, start=1):
        with accelerator.accumulate(model):
            accelerator.backward(nn.functional.mse_loss(model(inputs), targets))
            if step % micro_steps == 0:
                optimizer.step()
                optimizer.zero_grad()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro-steps", type=int, default=4)
    args = parser.parse_args()
    accelerator = Accelerator(gradient_accumulation_steps=args.micro_steps)
    points = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(points, points.sum(dim=1, keepdim=True)), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(3):
        train_epoch(accelerator, model, optimizer, loader, args.micro_steps)


if __name__ == "__main__":
    main()
