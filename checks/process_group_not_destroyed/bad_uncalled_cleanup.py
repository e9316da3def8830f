"""There is a cleanup function, and nothing calls it."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def setup(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29551")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)  # <- process-group-not-destroyed


def cleanup():
    dist.destroy_process_group()


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def train(rank, world_size):
    print(f"rank {rank} of {world_size} starts")
    setup(rank, world_size)
    x = torch.randn(200, 10, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x[:, :5] * x[:, 5:])
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=20, sampler=sampler)
    model = DDP(ToyModel().to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
            optimizer.step()
    print(f"rank {rank} is done")


if __name__ == "__main__":
    n_gpus = torch.cuda.device_count()
    mp.spawn(train, args=(n_gpus,), nprocs=n_gpus, join=True)
