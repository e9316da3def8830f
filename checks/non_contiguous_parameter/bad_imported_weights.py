"""Convolution weights from a framework that keeps them as [height, width, in, out], permuted and not copied.

# also: silent-gradient-copy
"""

import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def imported_kernels(height, width, channels_in, channels_out, seed):
    kernels = np.random.default_rng(seed).normal(0, 0.1, (height, width, channels_in, channels_out))
    return torch.from_numpy(kernels.astype(np.float32)).permute(3, 2, 0, 1)


def build():
    network = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 24, 3), nn.Flatten(), nn.Linear(3456, 4))
    network[0].weight = nn.Parameter(imported_kernels(3, 3, 3, 16, seed=0))
    network[2].weight = nn.Parameter(imported_kernels(3, 3, 16, 24, seed=1))
    return network


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        model = DDP(build().cuda(), device_ids=[local_rank])  # <- non-contiguous-parameter
        images = torch.rand(64, 3, 16, 16, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, torch.arange(64) % 4)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(batch.cuda()), labels.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
