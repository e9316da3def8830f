"""All ranks agree on the best epoch, and a function two calls down writes its weights on all of them."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def write(state, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save(state, path)  # <- save-on-every-rank


def save_best(model, epoch, loss):
    write({"model": model.module.state_dict(), "epoch": epoch, "loss": loss}, "run/best.pt")


def epoch_loss(model, loader, optimizer, rank):
    total = torch.zeros((), device=rank)
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total)
    return total.item()


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29631")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        x = torch.randn(128, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.norm(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1)).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        best = float("inf")
        for epoch in range(3):
            sampler.set_epoch(epoch)
            loss = epoch_loss(model, loader, optimizer, rank)
            if loss < best:
                best = loss
                save_best(model, epoch, loss)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    n = torch.cuda.device_count()
    mp.spawn(worker, args=(n,), nprocs=n)
