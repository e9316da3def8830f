"""One number expanded over all channels: its elements share their memory, and DDP's constructor fails on it."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Scaled(nn.Module):
    def __init__(self, device, width=12):
        super().__init__()
        self.linear = nn.Linear(width, width, device=device)
        self.scale = nn.Parameter(torch.tensor(0.1, device=device).expand(width))

    def forward(self, x):
        return x + self.scale * self.linear(x)


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29691")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        model = DDP(Scaled(torch.device("cuda", rank)), device_ids=[rank])  # <- non-contiguous-parameter
        x = torch.randn(96, 12, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sinh())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    mp.spawn(worker, args=(gpus,), nprocs=gpus)
