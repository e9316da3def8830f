"""Accelerate deals out the batches of a loader that is prepared by itself; the correct ones are counted on each rank."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(model, loader):
    model.eval()
    correct, total = 0, 0
    for points, labels in loader:
        with torch.no_grad():
            guesses = model(points).argmax(dim=-1)
        correct += (guesses == labels).sum().item()
        total += labels.size(0)
    return correct / total


def main():
    accelerator = Accelerator()
    points = torch.randn(1_000, 8)
    data = TensorDataset(points, (points.sum(dim=1) > 0).long())
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train_loader, test_loader = DataLoader(data, 50, shuffle=True), DataLoader(data, 50)
    model, optimizer = accelerator.prepare_model(model), accelerator.prepare_optimizer(optimizer)
    train_loader = accelerator.prepare_data_loader(train_loader, device_placement=True)
    test_loader = accelerator.prepare_data_loader(data_loader=test_loader)
    for epoch in range(5):
        model.train()
        for points, labels in train_loader:
            loss = nn.functional.cross_entropy(model(points), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.print(f"epoch {epoch}: {evaluate(model, test_loader):.3f}")  # <- unreduced-metric
    accelerator.end_training()


if __name__ == "__main__":
    main()
