"""Fabric: ``setup_dataloaders`` puts the sampler into the loader, in a loop of the script's own."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    fabric = L.Fabric(accelerator="cuda", devices=4, strategy="ddp")
    fabric.launch()
    x = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=32, shuffle=True)
    loader = fabric.setup_dataloaders(loader)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    for epoch in range(3):
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
        fabric.print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
