"""Accelerate saves its own state on one rank only, and the script's torch.save beside it runs on all of them."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator()
    x = torch.randn(256, 4, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.sin()), batch_size=16, shuffle=True)
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(3):
        for inputs, targets in loader:
            optimizer.zero_grad()
            accelerator.backward(nn.functional.mse_loss(model(inputs), targets))
            optimizer.step()
        accelerator.save_state("checkpoint")
        torch.save({"epoch": epoch}, "checkpoint/epoch.pt")  # <- save-on-every-rank
    accelerator.end_training()


if __name__ == "__main__":
    main()
