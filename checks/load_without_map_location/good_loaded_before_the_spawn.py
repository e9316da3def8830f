"""The parent looks at the checkpoint before it starts the ranks: one process loads it."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def worker(rank, world_size, weights):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29512")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        model = nn.Linear(4, 4)
        model.load_state_dict(weights)
        model = DDP(model.to(rank), device_ids=[rank])
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cos())
        loader = DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            loader.sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


def main():
    model = nn.Linear(4, 4)
    model.load_state_dict(torch.load("start.pt"))
    gpus = torch.cuda.device_count()
    mp.spawn(worker, args=(gpus, model.state_dict()), nprocs=gpus)


if __name__ == "__main__":
    main()
