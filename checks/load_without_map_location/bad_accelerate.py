"""Accelerate starts the ranks; the script itself loads the weights on each of them."""

import os

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main(path="weights.pt"):
    accelerator = Accelerator()
    model = nn.Linear(5, 5)
    if os.path.exists(path):
        model.load_state_dict(torch.load(path))  # <- load-without-map-location
    x = torch.randn(160, 5, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.cumsum(dim=1)), batch_size=20, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            accelerator.backward(nn.functional.mse_loss(model(inputs), targets))
            optimizer.step()
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), path)


if __name__ == "__main__":
    main()
