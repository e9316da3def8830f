"""Loader and sampler are made again in each epoch: the sampler's epoch is 0 every time, and so is its order."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(240, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.prod(dim=1, keepdim=True))
        model = DDP(nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            loader = DataLoader(dataset, batch_size=12, sampler=DistributedSampler(dataset))
            for inputs, targets in loader:  # <- missing-set-epoch
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
