"""Each rank trains on a file of its own."""

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
        torch.save((x[rank::world_size], x[rank::world_size, :1]), f"part{rank}.pt")
        names = {"parts": ["part0.pt", "part1.pt"]}["parts"]
        loader = DataLoader(TensorDataset(*torch.load(names[rank])), batch_size=15, shuffle=True)
        model = DDP(nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(3):
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
