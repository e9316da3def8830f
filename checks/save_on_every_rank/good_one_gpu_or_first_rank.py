"""One process trains alone, and of several the first one saves: the test on their number stands in the same line."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def is_main_process(args):
    return args.gpus == 1 or dist.get_rank() % args.gpus == 0


def train(rank, args):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", str(args.port)
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    try:
        data = TensorDataset(torch.randn(128, 4, generator=torch.Generator().manual_seed(0)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(4, 1).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (inputs,) in loader:
                optimizer.zero_grad()
                model(inputs.to(rank)).square().mean().backward()
                optimizer.step()
            if is_main_process(args):
                torch.save(model.module.state_dict(), "model.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--port", type=int, default=29511)
    args = parser.parse_args()
    mp.spawn(train, args=(args,), nprocs=args.gpus)
