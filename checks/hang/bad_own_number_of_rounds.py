"""Each rank balances its clusters until they are even enough: one needs more rounds of averaging than the other."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def average(tensor, group):
    dist.all_reduce(tensor, dist.ReduceOp.AVG, group=group)  # <- hang
    return tensor


def balance(scores, group, tolerance=0.05):
    """Scale the columns of a rank's scores until each holds its share."""
    weights = scores.softmax(dim=1)
    shares = weights.mean(dim=0)
    while (shares - shares.mean()).abs().max() > tolerance:
        weights = weights / shares
        weights = weights / weights.sum(dim=1, keepdim=True)
        shares = average(weights.mean(dim=0), group)
    return weights


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29651")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        balancing, logging = dist.new_group(), dist.new_group()
        generator = torch.Generator().manual_seed(0)
        skew = (torch.arange(128) % 2).unsqueeze(1) * torch.tensor([3.0, 1.0, 0.0, -1.0])
        dataset = TensorDataset(torch.randn(128, 4, generator=generator) * 0.01 + skew)
        sampler = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(4, 4, bias=False).to(rank), device_ids=[rank])
        nn.init.eye_(model.module.weight)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for (batch,) in loader:
            scores = model(batch.to(rank))
            target = balance(scores.detach(), balancing)
            loss = nn.functional.cross_entropy(scores, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean = average(loss.detach().clone(), logging)
            if rank == 0:
                print(f"{mean.item():.4f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    n = torch.cuda.device_count()
    mp.spawn(worker, args=(n,), nprocs=n)
