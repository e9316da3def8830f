"""With one GPU the script does itself, as rank 0, what the ranks do that it starts otherwise."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(rank, ranks):
    torch.cuda.set_device(rank)
    if ranks > 1:
        os.environ.setdefault("MASTER_ADDR", "localhost")
        os.environ.setdefault("MASTER_PORT", "12355")
        dist.init_process_group("nccl", rank=rank, world_size=ranks)
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset, num_replicas=ranks, rank=rank)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = nn.Linear(6, 6).to(rank)
        if ranks > 1:
            model = DDP(model, device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        if ranks > 1:
            dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=1)
    gpus = min(parser.parse_args().gpus, torch.cuda.device_count())
    if gpus > 1:
        mp.spawn(train, args=(gpus,), nprocs=gpus)
    else:
        train(0, gpus)
