"""Accelerate wraps what it prepares in DDP, and leaves BatchNorm layers as they are."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator()
    x = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)  # <- unconverted-batchnorm
    for epoch in range(3):
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(f"epoch {epoch}: {loss.item():.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
