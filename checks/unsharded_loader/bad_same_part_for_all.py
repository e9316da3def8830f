"""The sampler is told that there is one replica, on each of the ranks."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(240, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset, num_replicas=1, rank=0)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)  # <- unsharded-loader
        model = DDP(nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
