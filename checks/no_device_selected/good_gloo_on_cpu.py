"""Training on CPUs over gloo: there is no device to select."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(rank, args):
    dist.init_process_group("gloo", init_method=args.url, rank=rank, world_size=args.processes)
    try:
        dist.barrier()
        x = torch.randn(128, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.round())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(6, 6))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs), targets).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--url", default="tcp://127.0.0.1:29572")
    args = parser.parse_args()
    mp.spawn(train, args=(args,), nprocs=args.processes)
