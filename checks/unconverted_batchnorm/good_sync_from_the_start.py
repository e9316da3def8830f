"""SyncBatchNorm is written in the network itself, beside a BatchNorm class that no object is made of."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class ConvStem(nn.Module):
    """The stem of an earlier version; checkpoints of it are converted elsewhere."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


class Stem(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, bias=False)
        self.norm = nn.SyncBatchNorm(8)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29611")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        images = torch.rand(64, 1, 10, 10, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, torch.arange(64) % 3)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(nn.Sequential(Stem(), nn.Flatten(), nn.Linear(512, 3)).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(batch.to(rank)), labels.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    mp.spawn(worker, args=(gpus,), nprocs=gpus)
