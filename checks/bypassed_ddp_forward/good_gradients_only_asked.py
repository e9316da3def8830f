"""The evaluation asks the bare network for gradients, to draw what it looks at; the next step does not take them."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Classifier(nn.Module):
    def __init__(self, width=32, classes=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, width), nn.ReLU())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.body(x))


def train(model, loader, optimizer, device):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
        optimizer.step()


def attribution(model, loader, device):
    model.eval()
    maps = []
    for x, _ in loader:
        scores = model(x.to(device))
        model.zero_grad()
        scores.max(dim=1).values.sum().backward()
        maps.append(model.body[0].weight.grad.abs().sum(dim=0).cpu())
    return torch.stack(maps)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(192, 12, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.argmax(dim=1) % 5)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = Classifier().to(device)
        wrapped = DDP(model, device_ids=[device.index])
        optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            train(wrapped, loader, optimizer, device)
            maps = attribution(wrapped.module, DataLoader(dataset, batch_size=48), device)
            if dist.get_rank() == 0:
                print(maps.shape)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
