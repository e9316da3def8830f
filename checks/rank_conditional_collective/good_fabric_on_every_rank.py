"""Every rank calls Fabric's ``save``; rank 0 only prints."""

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    fabric = Fabric(accelerator="cuda", devices=4, strategy="ddp")
    fabric.launch()
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.square().sum(dim=1, keepdim=True))
    model = nn.Linear(6, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.01))
    loader = fabric.setup_dataloaders(DataLoader(dataset, batch_size=12, shuffle=True))
    for _ in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            fabric.backward(nn.functional.mse_loss(model(inputs), targets))
            optimizer.step()
        fabric.save("last.ckpt", {"model": model})
        if fabric.is_global_zero:
            fabric.print("saved")


if __name__ == "__main__":
    main()
