"""A tool of several subcommands, of which the one that trains starts its ranks at a port of its own."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def work(gpu, args):
    torch.cuda.set_device(gpu)
    dist.init_process_group(  # <- hard-coded-port
        "nccl", init_method="tcp://127.0.0.1:8000", world_size=args.gpus, rank=gpu
    )
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        sampler = DistributedSampler(TensorDataset(x))
        loader = DataLoader(TensorDataset(x), batch_size=args.batch_size, sampler=sampler)
        model = DDP(nn.Linear(6, 6).to(gpu), device_ids=[gpu])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (inputs,) in loader:
                optimizer.zero_grad()
                model(inputs.to(gpu)).square().mean().backward()
                optimizer.step()
        if gpu == 0:
            torch.save(model.module.state_dict(), args.out)
    finally:
        dist.destroy_process_group()


def train(args):
    mp.spawn(work, args=(args,), nprocs=args.gpus)


def describe(args):
    print(torch.load(args.model, map_location="cpu").keys())


def add_train(commands):
    parser = commands.add_parser("train")
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--out", default="model.pt")
    parser.set_defaults(func=train)


def add_describe(commands):
    parser = commands.add_parser("describe")
    parser.add_argument("model")
    parser.set_defaults(func=describe)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command")
    add_train(commands)
    add_describe(commands)
    args = parser.parse_args()
    args.func(args)
