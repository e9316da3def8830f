"""A RandomSampler with replacement, seeded by rank: the ranks draw independently of each other."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


def main():
    rank, device = int(os.environ["RANK"]), torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(500, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.abs().sum(dim=1, keepdim=True))
        own = torch.Generator().manual_seed(100 + rank)
        sampler = RandomSampler(dataset, replacement=True, num_samples=320, generator=own)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)
        model = DDP(nn.Linear(5, 1).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(2):
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
