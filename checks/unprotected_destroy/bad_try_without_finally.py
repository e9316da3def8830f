"""A try block catches out-of-memory errors only; every other exception leaves without destroying the group."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, local_rank, batch_size=30):
        self.local_rank = local_rank
        x = torch.randn(300, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cummax(dim=1).values)
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size, sampler=self.sampler)
        self.model = DDP(nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 6)).cuda(), device_ids=[local_rank])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for inputs, targets in self.loader:
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.model(inputs.cuda()), targets.cuda()).backward()
                self.optimizer.step()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        Trainer(local_rank).fit(epochs=2)
    except torch.OutOfMemoryError:
        sys.exit("out of memory: use a smaller batch")
    dist.barrier()
    dist.destroy_process_group()  # <- unprotected-destroy


if __name__ == "__main__":
    main()
