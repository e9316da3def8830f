"""The sampler sits inside a batch sampler: ``loader.batch_sampler.sampler.set_epoch``."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, TensorDataset


def build_loader(batch_size):
    boxes = torch.rand(240, 4, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(boxes, boxes[:, 2:].prod(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset)
    return DataLoader(dataset, batch_sampler=BatchSampler(sampler, batch_size, drop_last=True))


def main():
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    try:
        loader = build_loader(batch_size=20)
        model = DDP(nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1)).to(gpu), device_ids=[gpu])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            loader.batch_sampler.sampler.set_epoch(epoch)
            for boxes, areas in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(boxes.to(gpu)), areas.to(gpu)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
