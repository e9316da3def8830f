"""join=False, so that the parent can report while the ranks work; it joins them all afterwards."""

import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29606")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        x = torch.randn(96, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sigmoid())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


def main():
    n = torch.cuda.device_count()
    started = time.monotonic()
    context = mp.spawn(train, args=(n,), nprocs=n, join=False)
    while not context.join(timeout=2):
        print(f"{time.monotonic() - started:.0f} s", flush=True)
    print("all ranks are done")


if __name__ == "__main__":
    main()
