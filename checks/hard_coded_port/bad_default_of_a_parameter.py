"""The port is a parameter with a default, and nobody passes another one."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Group:
    def __init__(self, rank, world_size, host="localhost", port=40112):
        self.rank, self.world_size = rank, world_size
        self.host, self.port = host, port

    def __enter__(self):
        os.environ.update(MASTER_ADDR=self.host, MASTER_PORT=str(self.port))  # <- hard-coded-port
        torch.cuda.set_device(self.rank)
        dist.init_process_group("nccl", rank=self.rank, world_size=self.world_size)
        return torch.device("cuda", self.rank)

    def __exit__(self, *reason):
        dist.destroy_process_group()


def train(rank, world_size):
    with Group(rank, world_size) as device:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(6, 6).to(device), device_ids=[device])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()


if __name__ == "__main__":
    world_size = torch.cuda.device_count()
    mp.spawn(train, args=(world_size,), nprocs=world_size)
