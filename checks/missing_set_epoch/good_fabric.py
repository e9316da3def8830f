"""Fabric's loaders count their epochs and tell a sampler that is in them, the script's own too."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    fabric = L.Fabric(accelerator="cuda", devices=4, strategy="ddp")
    fabric.launch()
    x = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.argmax(dim=1))
    sampler = DistributedSampler(dataset, num_replicas=fabric.world_size, rank=fabric.global_rank)
    loader = fabric.setup_dataloaders(DataLoader(dataset, batch_size=32, sampler=sampler))
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    for _ in range(3):
        for inputs, labels in loader:
            optimizer.zero_grad()
            fabric.backward(nn.functional.cross_entropy(model(inputs), labels))
            optimizer.step()


if __name__ == "__main__":
    main()
