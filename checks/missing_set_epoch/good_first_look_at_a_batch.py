"""One batch is drawn before the epochs to set the input scale; the epochs themselves are announced."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Scaled(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.layers = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers((x - self.mean) / self.std)


def train(model, loader, device, epochs=2):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
            optimizer.step()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(256, 5, generator=torch.Generator().manual_seed(0)) * 4 + 1
        dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
        loader = DataLoader(dataset, batch_size=32, sampler=DistributedSampler(dataset))
        first, _ = next(iter(loader))
        model = DDP(Scaled(first.mean(dim=0), first.std(dim=0)).to(device), device_ids=[device.index])
        train(model, loader, device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
