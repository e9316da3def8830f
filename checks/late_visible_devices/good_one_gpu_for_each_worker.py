"""Each spawned worker leaves itself one GPU before its own first CUDA call, whatever the parent has done."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def worker(rank, world_size):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(rank)
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29595")
    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        x = torch.randn(160, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.pow(3))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 3)).to(device))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    print("the first of them:", torch.cuda.get_device_name(0))
    count = torch.cuda.device_count()
    mp.spawn(worker, args=(count,), nprocs=count)
