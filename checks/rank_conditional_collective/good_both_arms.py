"""Rank 0 reads the vocabulary and broadcasts it, the others receive: the same collective, once in each arm."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def shared_settings(rank):
    if rank == 0:
        box = [{"width": 24, "seed": 5}]
        dist.broadcast_object_list(box, src=0)
        return box[0]
    box = [None]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        settings = shared_settings(dist.get_rank())
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(settings["seed"]))
        dataset = TensorDataset(x, x.relu())
        sampler = DistributedSampler(dataset, seed=settings["seed"])
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        width = settings["width"]
        model = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 6)).to(device)
        model = DDP(model, device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                print("epoch", epoch)
                dist.barrier()
            else:
                dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
