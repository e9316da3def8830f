"""A function finds whatever wants to know the epoch; it is only called in a distributed run, with the seed added."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def announce_epoch(loader, epoch):
    for owner in (loader.sampler, loader.batch_sampler, loader.dataset):
        if hasattr(owner, "set_epoch"):
            owner.set_epoch(epoch)


def train_one_epoch(model, loader, optimizer, device):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    x = torch.randn(256, 12, generator=torch.Generator().manual_seed(args.seed))
    dataset = TensorDataset(x, (x.sum(dim=1) > 0).long())
    model = nn.Linear(12, 2).to(device)
    try:
        sampler = None
        if args.distributed:
            dist.init_process_group("nccl", device_id=device)
            model = DDP(model, device_ids=[device.index])
            sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler, shuffle=sampler is None)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(args.epochs):
            if args.distributed:
                announce_epoch(loader, epoch + args.seed)
            train_one_epoch(model, loader, optimizer, device)
    finally:
        if args.distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
