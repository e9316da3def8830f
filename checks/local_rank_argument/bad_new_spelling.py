"""The launcher's new spelling, but still an option: under torchrun nobody passes it, and nothing reads LOCAL_RANK."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def run(local_rank, epochs):
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        angles = torch.linspace(0, 6, 160).unsqueeze(1)
        dataset = TensorDataset(angles, angles.cos())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)).to(device), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--local-rank", type=int, default=0)  # <- local-rank-argument
    args = parser.parse_args()
    run(args.local_rank, args.epochs)


if __name__ == "__main__":
    main()
