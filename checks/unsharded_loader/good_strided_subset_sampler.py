"""A SubsetRandomSampler over every n-th index: no distributed sampler by its type, the rank's part by its list."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, SubsetRandomSampler, TensorDataset


def build_sampler(dataset, cached):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if not cached:
        return DistributedSampler(dataset, num_replicas=world_size, rank=rank, shuffle=True)
    usable = len(dataset) - len(dataset) % world_size
    return SubsetRandomSampler(list(range(rank, usable, world_size)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-cache", action="store_true", help="read from disk, so that any rank can read any sample")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(200, 7, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.norm(dim=1, keepdim=True))
        sampler = build_sampler(dataset, cached=not args.no_cache)
        loader = DataLoader(dataset, sampler=sampler, batch_size=20, drop_last=True)
        model = DDP(nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 1)).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            if isinstance(sampler, DistributedSampler):
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
