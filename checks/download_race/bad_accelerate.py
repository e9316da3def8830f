"""Accelerate starts the program once for each rank, and each of them downloads."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR10
from torchvision.transforms import ToTensor


def main():
    accelerator = Accelerator()
    data = CIFAR10("data", download=True, transform=ToTensor())  # <- download-race
    loader = DataLoader(data, batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(3):
        for images, labels in loader:
            optimizer.zero_grad()
            accelerator.backward(nn.functional.cross_entropy(model(images), labels))
            optimizer.step()
    accelerator.end_training()


if __name__ == "__main__":
    main()
