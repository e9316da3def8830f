"""Sampler and shuffling are set in the opposite arms of one test, far from the loader."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", "0"))


def loader_options(dataset, training):
    options = {"batch_size": 16}
    if WORLD_SIZE > 1 and training:
        options["sampler"] = DistributedSampler(dataset)
    elif training:
        options["shuffle"] = True
    return options


def fit(model, dataset, device, epochs=2):
    loader = DataLoader(dataset, **loader_options(dataset, training=True))
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(model(x.to(device)), y.to(device)).backward()
            optimizer.step()


def main():
    device = torch.device("cuda", LOCAL_RANK)
    torch.cuda.set_device(device)
    x = torch.rand(128, 4, generator=torch.Generator().manual_seed(0))
    model = nn.Linear(4, 1).to(device)
    if WORLD_SIZE == 1:
        fit(model, TensorDataset(x, x.mean(dim=1, keepdim=True)), device)
        return
    dist.init_process_group("nccl", device_id=device)
    try:
        fit(DDP(model, device_ids=[LOCAL_RANK]), TensorDataset(x, x.mean(dim=1, keepdim=True)), device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
