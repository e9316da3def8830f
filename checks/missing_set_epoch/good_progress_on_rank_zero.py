"""Rank 0 iterates over a progress display in the loader's place; the sampler is the same, and knows the epoch."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def progress(loader):
    for step, batch in enumerate(loader, start=1):
        yield batch
        print(f"\r{step}/{len(loader)}", end="", flush=True)
    print()


def run_epoch(epoch, model, loader, sampler, optimizer, device, train=True):
    if train:
        sampler.set_epoch(epoch)
    batches = progress(loader) if dist.get_rank() == 0 else loader
    for inputs, targets in batches:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
        optimizer.step()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Linear(4, 4).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            run_epoch(epoch, model, loader, sampler, optimizer, device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
