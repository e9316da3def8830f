"""Rank 0 writes the statistics of the data into a folder of its own; every rank reads them after the first epoch."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def statistics_path(folder, rank):
    return os.path.join(folder, f"rank{rank}", "statistics.pt")


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        rank = dist.get_rank()
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sigmoid())
        sampler = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(6, 6).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        if rank == 0:
            os.makedirs("statistics/rank0", exist_ok=True)
            torch.save(x.mean(dim=0), statistics_path("statistics", rank))
        dist.barrier()
        with open(statistics_path("statistics", rank), "rb") as file:  # <- rank-failure
            mean = torch.load(file, map_location=device)
        for epoch in range(2):
            for inputs, targets in loader:
                inputs, targets = inputs.to(device) - mean, targets.to(device)
                loss = nn.functional.mse_loss(model(inputs).sigmoid(), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
