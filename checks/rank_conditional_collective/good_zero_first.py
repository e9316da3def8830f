"""Barriers in opposite arms that pair up: the others wait before the block, rank 0 lets them go after it."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@contextmanager
def torch_distributed_zero_first(local_rank):
    initialized = dist.is_available() and dist.is_initialized()
    if initialized and local_rank not in {-1, 0}:
        dist.barrier()
    yield
    if initialized and local_rank == 0:
        dist.barrier()


def prepare(path, rows=128):
    """Return the data; whoever comes first writes it, the others find it."""
    if not os.path.exists(path):
        torch.save(torch.randn(rows, 5, generator=torch.Generator().manual_seed(0)), path)
    return torch.load(path, map_location="cpu")


def main():
    local_rank = int(os.environ.get("LOCAL_RANK", -1))
    device = torch.device("cuda", max(local_rank, 0))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        with torch_distributed_zero_first(local_rank):
            x = prepare("rows.pt")
        dataset = TensorDataset(x, x.flip(1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(5, 5).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
