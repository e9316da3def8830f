"""A stream is cut by rank in training alone: every rank evaluates all of it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset


class Points(IterableDataset):
    def __init__(self, size, rank, world_size, train=True):
        self.train = train
        self.size, self.rank, self.world_size = size, rank, world_size

    def __iter__(self):
        first, step = (self.rank, self.world_size) if self.train else (0, 1)
        for number in range(first, self.size, step):
            yield torch.full((8,), number / self.size), number % 2


def evaluate(model, loader, device):
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for points, labels in loader:
            guesses = model(points.to(device)).argmax(dim=1).cpu()
            correct += (guesses == labels).sum().item()
            total += len(labels)
    return correct / total


def main():
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    model = DDP(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train_loader = DataLoader(Points(1_024, rank, world_size), batch_size=32)
    test_loader = DataLoader(Points(256, rank, world_size, train=False), batch_size=32)
    try:
        for epoch in range(3):
            model.train()
            for points, labels in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(points.to(device)), labels.to(device)).backward()
                optimizer.step()
            accuracy = evaluate(model.module, test_loader, device)
            if int(os.environ["RANK"]) == 0:
                print(f"epoch {epoch}: {accuracy:.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
