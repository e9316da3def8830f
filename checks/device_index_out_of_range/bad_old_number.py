"""GPU 2 of the machine is number 0 of those that are visible."""

import os

os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    device = torch.device("cuda:2" if torch.cuda.is_available() else "cpu")
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.cumsum(dim=1)), batch_size=32, shuffle=True)
    model = nn.Linear(6, 6).to(device)  # <- device-index-out-of-range
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
