"""The ranks are daemons of a parent that does not wait: they are killed as soon as it comes to its end."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Job:
    def __init__(self, epochs, port="29603"):
        self.epochs = epochs
        self.port = port

    def __call__(self, rank, world_size):
        os.environ.setdefault("MASTER_ADDR", "localhost")
        os.environ.setdefault("MASTER_PORT", self.port)
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", rank=rank, world_size=world_size)
        try:
            self.fit(rank)
        finally:
            dist.destroy_process_group()

    def fit(self, rank):
        x = torch.randn(128, 2, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.flip(1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(2, 2).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(self.epochs):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()


def main():
    n = torch.cuda.device_count()
    mp.spawn(Job(epochs=3), args=(n,), nprocs=n, join=False, daemon=True)  # <- unjoined-spawn


if __name__ == "__main__":
    main()
