"""Numbers that are the same on every rank may end the loop: epochs, steps, options."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=24):
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--max-steps", type=int, default=1000)
    parser.add_argument("--debug", action="store_true")
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(24, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        steps = 0
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for i, (features, target) in enumerate(loader):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
                steps += 1
                if args.debug and i > 10:
                    break
                if steps >= args.max_steps:
                    break
            if steps >= args.max_steps:
                break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
