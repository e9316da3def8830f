"""Under SLURM the address comes from the job; on one machine it is the same for everybody."""

import os
import subprocess

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def address():
    if "SLURM_JOB_NODELIST" in os.environ:
        names = subprocess.check_output(["scontrol", "show", "hostnames", os.environ["SLURM_JOB_NODELIST"]])
        return "tcp://%s:%d" % (names.decode().split()[0], 15000 + int(os.environ["SLURM_JOB_ID"]) % 5000)
    return "tcp://localhost:58472"


def train(rank, world_size, url):
    torch.cuda.set_device(rank)
    dist.init_process_group(backend="nccl", init_method=url, world_size=world_size, rank=rank)  # <- hard-coded-port
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(6, 6).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    world_size = torch.cuda.device_count()
    mp.spawn(train, args=(world_size, address()), nprocs=world_size)
