"""The sampler was given to the validation loader; the training loader draws from all samples on every rank."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset


@contextmanager
def process_group(device):
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        yield
    finally:
        dist.destroy_process_group()


def make_loaders(batch_size):
    generator = torch.Generator().manual_seed(21)
    x = torch.randn(400, 16, generator=generator)
    train = TensorDataset(x[:320], x[:320].norm(dim=1))
    val = TensorDataset(x[320:], x[320:].norm(dim=1))
    val_sampler = DistributedSampler(val, shuffle=False, drop_last=True)
    train_loader = DataLoader(train, batch_size, sampler=RandomSampler(train))  # <- unsharded-loader
    return train_loader, DataLoader(val, batch_size, sampler=val_sampler)


class Regressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x).squeeze(1)


@torch.no_grad()
def validate(model, loader, device):
    total = torch.zeros(2, device=device)
    for x, y in loader:
        total += torch.stack([(model(x.to(device)) - y.to(device)).abs().sum(), torch.tensor(float(len(x))).to(device)])
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    with process_group(device):
        train_loader, val_loader = make_loaders(batch_size=16)
        model = DistributedDataParallel(Regressor().to(device), device_ids=[device.index])
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        for epoch in range(2):
            for x, y in train_loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
            error = validate(model.module, val_loader, device)
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: mean absolute error {error:.3f}")


if __name__ == "__main__":
    main()
