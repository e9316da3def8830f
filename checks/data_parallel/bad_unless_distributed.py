"""Who starts it without a launcher gets the old way, which nobody asked for."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def wrapped(model, args):
    if args.distributed:
        return DDP(model, device_ids=[args.gpu])
    return nn.DataParallel(model)  # <- data-parallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true")
    args = parser.parse_args()
    args.gpu = int(os.environ["LOCAL_RANK"]) if args.distributed else 0
    torch.cuda.set_device(args.gpu)
    if args.distributed:
        dist.init_process_group("nccl")
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset) if args.distributed else None
        loader = DataLoader(dataset, batch_size=8, sampler=sampler, shuffle=sampler is None)
        model = wrapped(nn.Linear(6, 6).cuda(args.gpu), args)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            if sampler is not None:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda(args.gpu)), targets.cuda(args.gpu)).backward()
                optimizer.step()
    finally:
        if args.distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
