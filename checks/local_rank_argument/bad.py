"""The GPU comes from --local_rank, which torchrun does not pass: it stays 0 on every rank."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--local_rank", type=int, default=0, help="given by the launcher")  # <- local-rank-argument
    return parser.parse_args()


def main():
    args = parse_args()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(192, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.square())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler)
        model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 5)).cuda()
        model = DDP(model, device_ids=[args.local_rank], output_device=args.local_rank)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
