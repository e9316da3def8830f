"""Every rank draws the same batches, and trains on its own part of each."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset


def main():
    rank, local_rank, world_size = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(240, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
        loader = DataLoader(dataset, batch_size=24)
        model = DDP(nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(3):
            for batch in loader:
                inputs, targets = (part.chunk(world_size)[rank] for part in batch)
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
