"""The history is a list on rank 0 and nothing on the other ranks, which append to it all the same."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, rank):
        self.rank = rank
        self.history = [] if rank == 0 else None
        x = torch.rand(72, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=12, sampler=self.sampler)
        self.model = DDP(nn.Linear(4, 1).to(rank), device_ids=[rank])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for inputs, targets in self.loader:
                loss = nn.functional.mse_loss(self.model(inputs.to(self.rank)), targets.to(self.rank))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.history.append(loss.item())  # <- rank-failure


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29661")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        Trainer(rank).fit(epochs=2)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    n = torch.cuda.device_count()
    mp.spawn(worker, args=(n,), nprocs=n)
