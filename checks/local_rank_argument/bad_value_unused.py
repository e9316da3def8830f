"""--local_rank is accepted for an old launcher and ignored; today's passes --local-rank, which is not accepted."""

import argparse
import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@contextmanager
def distributed_mode(args):
    args.rank = int(os.environ["RANK"])
    args.world_size = int(os.environ["WORLD_SIZE"])
    args.gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(args.gpu)
    dist.init_process_group("nccl", init_method=args.dist_url, world_size=args.world_size, rank=args.rank)
    try:
        yield
    finally:
        dist.destroy_process_group()


def get_args_parser():
    parser = argparse.ArgumentParser("pre-training", add_help=False)
    parser.add_argument("--epochs", default=2, type=int)
    parser.add_argument("--dist_url", default="env://")
    parser.add_argument("--local_rank", default=-1, type=int)  # <- local-rank-argument
    return parser


def main(args):
    with distributed_mode(args):
        patches = torch.randn(128, 16, 12, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(patches)
        sampler = DistributedSampler(dataset, num_replicas=args.world_size, rank=args.rank, shuffle=True)
        loader = DataLoader(dataset, sampler=sampler, batch_size=16, drop_last=True)
        model = nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 12)).to(args.gpu)
        model = DDP(model, device_ids=[args.gpu])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for epoch in range(args.epochs):
            loader.sampler.set_epoch(epoch)
            for (batch,) in loader:
                batch = batch.to(args.gpu)
                loss = nn.functional.mse_loss(model(batch[:, ::2]), batch[:, 1::2])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


if __name__ == "__main__":
    main(get_args_parser().parse_args())
