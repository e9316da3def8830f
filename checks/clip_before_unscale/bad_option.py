"""Mixed precision and clipping are options; with both, the clipping comes first."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.cuda.amp import GradScaler
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_value_
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=20):
    generator = torch.Generator().manual_seed(6)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--clip-grad", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(20, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        scaler = GradScaler(enabled=args.amp)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda", torch.float16, enabled=args.amp):
                    loss = nn.functional.huber_loss(model(features.cuda()), target.cuda())
                scaler.scale(loss).backward()
                if args.clip_grad > 0:
                    clip_grad_value_(model.parameters(), args.clip_grad)  # <- clip-before-unscale
                scaler.step(optimizer)
                scaler.update()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
