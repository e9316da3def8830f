"""A channels_last model whose parameters are made contiguous before the wrap: now each gradient is copied."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Upscaler(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        first, second = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.features = nn.Sequential(first, nn.ReLU(), second)
        self.upscale = nn.Sequential(nn.ReLU(), nn.Conv2d(width, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, images):
        return self.upscale(self.features(images))


def make_contiguous(network):
    for parameter in network.parameters():
        if not parameter.is_contiguous():
            parameter.data = parameter.data.contiguous()


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29681")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        network = Upscaler().to(rank, memory_format=torch.channels_last)
        make_contiguous(network)
        model = DDP(network, device_ids=[rank])  # <- silent-gradient-copy
        large = torch.rand(64, 3, 24, 24, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(nn.functional.avg_pool2d(large, 2), large)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for small, target in loader:
                small = small.to(rank, memory_format=torch.channels_last)
                optimizer.zero_grad()
                nn.functional.l1_loss(model(small), target.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    mp.spawn(worker, args=(gpus,), nprocs=gpus)
