"""One of many data sets, each with its loader and sampler in an arm of its own, and one loop that tells the epoch."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Data:
    def __init__(self, name, batch_size, samples=256):
        chance = torch.Generator().manual_seed(0)
        if name.lower() == "uniform":
            x = torch.rand(samples, 20, generator=chance)
            dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
            train_sampler = DistributedSampler(dataset)
            self.train_sampler = train_sampler
            self.train = DataLoader(dataset, batch_size, shuffle=train_sampler is None, sampler=train_sampler)
        elif name.lower() == "normal":
            x = torch.randn(samples, 20, generator=chance)
            dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
            train_sampler = DistributedSampler(dataset)
            self.train_sampler = train_sampler
            self.train = DataLoader(dataset, batch_size, shuffle=train_sampler is None, sampler=train_sampler)
        elif name.lower() == "walk":
            x = torch.randn(samples, 20, generator=chance).cumsum(1)
            dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
            train_sampler = DistributedSampler(dataset)
            self.train_sampler = train_sampler
            self.train = DataLoader(dataset, batch_size, shuffle=train_sampler is None, sampler=train_sampler)
        elif name.lower() == "signs":
            x = torch.randn(samples, 20, generator=chance).sign()
            dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
            train_sampler = DistributedSampler(dataset)
            self.train_sampler = train_sampler
            self.train = DataLoader(dataset, batch_size, shuffle=train_sampler is None, sampler=train_sampler)
        elif name.lower() == "squares":
            x = torch.randn(samples, 20, generator=chance).square()
            dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
            train_sampler = DistributedSampler(dataset)
            self.train_sampler = train_sampler
            self.train = DataLoader(dataset, batch_size, shuffle=train_sampler is None, sampler=train_sampler)
        elif name.lower() == "waves":
            x = torch.rand(samples, 20, generator=chance).sin()
            dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
            train_sampler = DistributedSampler(dataset)
            self.train_sampler = train_sampler
            self.train = DataLoader(dataset, batch_size, shuffle=train_sampler is None, sampler=train_sampler)
        elif name.lower() == "steps":
            x = torch.rand(samples, 20, generator=chance).round()
            dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
            train_sampler = DistributedSampler(dataset)
            self.train_sampler = train_sampler
            self.train = DataLoader(dataset, batch_size, shuffle=train_sampler is None, sampler=train_sampler)
        elif name.lower() == "roots":
            x = torch.rand(samples, 20, generator=chance).sqrt()
            dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
            train_sampler = DistributedSampler(dataset)
            self.train_sampler = train_sampler
            self.train = DataLoader(dataset, batch_size, shuffle=train_sampler is None, sampler=train_sampler)
        elif name.lower() == "bumps":
            x = torch.randn(samples, 20, generator=chance).square().neg().exp()
            dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
            train_sampler = DistributedSampler(dataset)
            self.train_sampler = train_sampler
            self.train = DataLoader(dataset, batch_size, shuffle=train_sampler is None, sampler=train_sampler)
        else:
            raise NotImplementedError(f"no data set is called {name}")


def train(loader, model, optimizer, device):
    for source, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(source.to(device)), targets.to(device)).backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", default="uniform")
    args = parser.parse_args()
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = Data(args.dataset, batch_size=32)
        model = DDP(nn.Linear(20, 1).to(device), device_ids=[device])
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        for epoch in range(2):
            data.train_sampler.set_epoch(epoch)
            train(data.train, model, optimizer, device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
