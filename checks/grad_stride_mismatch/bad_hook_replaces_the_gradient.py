"""A hook normalises each gradient column by column and puts the result, a transposed tensor, in its place."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def normalise_columns(parameter):
    columns = parameter.grad.t().contiguous()
    parameter.grad = nn.functional.normalize(columns, dim=1).t()


class Trainer:
    def __init__(self, rank, width=48):
        self.rank = rank
        network = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 10)).to(rank)
        self.model = DDP(network, device_ids=[rank])  # <- grad-stride-mismatch
        for parameter in self.model.parameters():
            if parameter.dim() == 2:
                parameter.register_post_accumulate_grad_hook(normalise_columns)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        x = torch.randn(128, 10, generator=torch.Generator().manual_seed(0))
        self.dataset = TensorDataset(x, x.flip(1))
        self.sampler = DistributedSampler(self.dataset)

    def fit(self, epochs):
        loader = DataLoader(self.dataset, batch_size=16, sampler=self.sampler)
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for inputs, targets in loader:
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.model(inputs.to(self.rank)), targets.to(self.rank)).backward()
                self.optimizer.step()


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29671")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        Trainer(rank).fit(epochs=2)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    mp.spawn(worker, args=(gpus,), nprocs=gpus)
