"""How many batches a step takes is an option, worked out of others or what a checkpoint says, as is the count."""

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
    parser.add_argument("--accumulate", type=int)
    parser.add_argument("--total-batch-size", type=int)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--resume")
    args = parser.parse_args()
    if args.total_batch_size is None:
        args.accumulate = args.accumulate or 2
        args.total_batch_size = args.batch_size * args.accumulate
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    world_size = dist.get_world_size()
    if args.accumulate is None:
        args.accumulate = max(1, args.total_batch_size // (args.batch_size * world_size))
    seen = 0
    if args.resume is not None:
        state = torch.load(args.resume, map_location="cpu")
        seen, args.accumulate = state["seen"], state["accumulate"]
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        optimizer.zero_grad()
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for batch in loader:
                seen += 1
                features, target = (part.cuda() for part in batch)
                loss = nn.functional.l1_loss(model(features), target) / args.accumulate
                loss.backward()  # <- accumulation-without-no-sync
                if seen % args.accumulate != 0:
                    continue
                optimizer.step()
                optimizer.zero_grad()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
