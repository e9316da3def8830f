"""The parent has asked CUDA already; the list is for the spawned children, which start fresh and read it."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

GPUS = [1, 3]


def worker(rank, world_size):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        x = torch.rand(128, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.std(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(6, 1).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


def main():
    if not torch.cuda.is_available():
        raise SystemExit("no GPU")
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(gpu) for gpu in GPUS)
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29594")
    mp.spawn(worker, args=(len(GPUS),), nprocs=len(GPUS))


if __name__ == "__main__":
    main()
