"""Distillation: the teacher is a bare network on purpose, frozen and run without gradients; the student is in DDP."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def mlp(width):
    return nn.Sequential(nn.Linear(12, width), nn.GELU(), nn.Linear(width, 5))


class Distiller:
    def __init__(self, device):
        self.device = device
        self.teacher = mlp(128).to(device).requires_grad_(False).eval()
        self.student = DDP(mlp(16).to(device), device_ids=[device.index])
        self.optimizer = torch.optim.AdamW(self.student.parameters(), lr=1e-3)

    def step(self, x):
        with torch.no_grad():
            target = self.teacher(x).softmax(dim=1)
        loss = nn.functional.cross_entropy(self.student(x), target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        torch.manual_seed(0)
        distiller = Distiller(device)
        dataset = TensorDataset(torch.randn(160, 12, generator=torch.Generator().manual_seed(1)))
        sampler = DistributedSampler(dataset)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (x,) in DataLoader(dataset, batch_size=20, sampler=sampler):
                distiller.step(x.to(device))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
