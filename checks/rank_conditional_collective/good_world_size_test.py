"""The collectives stand under tests of whether and how widely the run is distributed: the same on every rank."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def is_distributed():
    return dist.is_available() and dist.is_initialized()


def mean_over_ranks(value):
    if not is_distributed():
        return value.item()
    if dist.get_world_size() > 1:
        dist.all_reduce(value)
        value /= dist.get_world_size()
    return value.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--log-every", type=int, default=2)
    args = parser.parse_args()
    args.distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    try:
        model = nn.Linear(5, 5).to(device)
        if args.distributed:
            dist.init_process_group("nccl", device_id=device)
            model = DDP(model, device_ids=[device.index])
        x = torch.randn(96, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.roll(1, dims=1))
        sampler = DistributedSampler(dataset) if args.distributed else None
        loader = DataLoader(dataset, batch_size=12, sampler=sampler, shuffle=sampler is None)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(args.epochs):
            if args.distributed:
                sampler.set_epoch(epoch)
            for step, (inputs, targets) in enumerate(loader):
                loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if step % args.log_every == 0:
                    mean = mean_over_ranks(loss.detach().clone())
                    if not args.distributed or dist.get_rank() == 0:
                        print(f"{epoch}.{step}: {mean:.4f}")
    finally:
        if args.distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
