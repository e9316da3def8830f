"""The optimiser comes from a table of the library's, by the name in the options."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=384, columns=16):
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--optimizer", default="SGD")
    parser.add_argument("--every", type=int, default=2)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        optimizer = getattr(torch.optim, args.optimizer)(model.parameters(), lr=0.1)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for i, (features, target) in enumerate(loader):
                nn.functional.mse_loss(
                    model(features.cuda()), target.cuda()
                ).backward()  # <- accumulation-without-no-sync
                if i % args.every == args.every - 1:
                    optimizer.step()
                    optimizer.zero_grad()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
