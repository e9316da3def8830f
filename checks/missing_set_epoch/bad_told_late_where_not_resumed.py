"""The samplers stand in a table, and one is told the epoch after it; a run that resumes nothing starts at zero."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Data:
    def __init__(self):
        self.sampler = {"train": None, "valid": None}
        self.loader = {"train": None, "valid": None}
        angles = torch.rand(320, 1, generator=torch.Generator().manual_seed(0)) * 6.28
        for phase in ("train", "valid"):
            dataset = TensorDataset(torch.cat([angles.cos(), angles.sin()], dim=1), angles)
            self.sampler[phase] = DistributedSampler(dataset)
            self.loader[phase] = DataLoader(dataset, batch_size=20, sampler=self.sampler[phase])


def resume(path, model, optimizer, rank):
    checkpoint = torch.load(path, map_location=f"cuda:{rank}")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"] + 1


def run_epoch(model, loader, optimizer):
    for points, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(points.cuda()), targets.cuda()).backward()
        optimizer.step()


def main(args):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = Data()
        model = DDP(nn.Sequential(nn.Linear(2, 64), nn.GELU(), nn.Linear(64, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        if args.resume:
            start = resume(args.resume, model, optimizer, local_rank)
        else:
            start = 0
        for epoch in range(start, args.epochs):
            run_epoch(model, data.loader["train"], optimizer)
            data.sampler["train"].set_epoch(epoch)  # <- missing-set-epoch
            if dist.get_rank() == 0:
                print("finished epoch", epoch)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    parser.add_argument("--epochs", type=int, default=10)
    main(parser.parse_args())
