"""A class hides the tracker, an option turns it off, and no test on the rank stands before it."""

import argparse
import os

import mlflow
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Tracker:
    def __init__(self, args):
        self.enabled = not args.no_tracking
        if self.enabled:
            mlflow.set_experiment(args.experiment)
            self.run = mlflow.start_run(run_name=args.name)  # <- log-on-every-rank

    def log(self, **values):
        if self.enabled:
            mlflow.log_metrics(values)


def worker(rank, args, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29513")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        tracker = Tracker(args)
        model = DDP(nn.Linear(4, 4).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(20):
            x = torch.randn(8, 4, generator=torch.Generator().manual_seed(step * world_size + rank)).to(rank)
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            tracker.log(step=step)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--experiment", default="linear")
    parser.add_argument("--name", default=None)
    parser.add_argument("--no-tracking", action="store_true")
    gpus = torch.cuda.device_count()
    mp.spawn(worker, args=(parser.parse_args(), gpus), nprocs=gpus)
