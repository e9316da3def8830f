"""One device on one node: Fabric starts one process, so there is no other rank whose batch would count."""

import lightning as L
import torch
from lightning.fabric.strategies import DDPStrategy
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Generator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 8))

    def forward(self, noise):
        return self.layers(noise)


class Critic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, width), nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


def main():
    fabric = L.Fabric(strategy=DDPStrategy(), devices=1, num_nodes=1)
    fabric.launch()
    data = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
    loader = fabric.setup_dataloaders(DataLoader(TensorDataset(data), batch_size=8, shuffle=True))
    generator = fabric.setup_module(Generator(32))
    critic = fabric.setup_module(Critic(32))
    first = torch.optim.Adam(generator.parameters(), lr=1e-4)
    second = torch.optim.Adam(critic.parameters(), lr=1e-4)
    first, second = fabric.setup_optimizers(first, second)
    for epoch in range(3):
        for (real,) in loader:
            noise = torch.randn(len(real), 16, device=real.device)
            second.zero_grad()
            fabric.backward(critic(generator(noise).detach()).mean() - critic(real).mean())
            second.step()
            first.zero_grad()
            fabric.backward(-critic(generator(noise)).mean())
            first.step()
        fabric.print(f"epoch {epoch} is over")


if __name__ == "__main__":
    main()
