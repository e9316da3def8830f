"""The device is selected after the init and before the first collective, by a string, from SLURM or torchrun."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def init_distributed():
    if "SLURM_PROCID" in os.environ:
        rank, world_size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
        local_rank = int(os.environ["SLURM_LOCALID"])
    else:
        rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        local_rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl", init_method="env://", world_size=world_size, rank=rank)
    torch.cuda.set_device(f"cuda:{local_rank}")
    dist.barrier()
    return local_rank


def main():
    local_rank = init_distributed()
    try:
        x = torch.randn(192, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumprod(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 5)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
