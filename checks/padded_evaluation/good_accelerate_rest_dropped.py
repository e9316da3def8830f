"""The evaluation loader drops the last batch: Accelerate has nothing to fill up."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(accelerator, model, loader):
    model.eval()
    correct, total = 0, 0
    for points, labels in loader:
        with torch.no_grad():
            guesses = model(points).argmax(dim=-1)
        guesses, labels = accelerator.gather((guesses, labels))
        correct += (guesses == labels).sum().item()
        total += labels.size(0)
    return correct / total


def main():
    accelerator = Accelerator()
    points = torch.randn(1_000, 8)
    data = TensorDataset(points, (points.sum(dim=1) > 0).long())
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train_loader, test_loader = DataLoader(data, 50, shuffle=True), DataLoader(data, 50, drop_last=True)
    model, optimizer, train_loader, test_loader = accelerator.prepare(model, optimizer, train_loader, test_loader)
    for epoch in range(5):
        model.train()
        for points, labels in train_loader:
            loss = nn.functional.cross_entropy(model(points), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.print(f"epoch {epoch}: {evaluate(accelerator, model, test_loader):.3f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
