"""The data set is told the device, and a method that it calls moves the sample there."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Points(Dataset):
    def __init__(self, points, device):
        self.points = points
        self.device = device

    def __len__(self):
        return len(self.points)

    def _on_device(self, point):
        return point.to(self.device, non_blocking=True)  # <- cuda-in-worker

    def __getitem__(self, index):
        return self._on_device(self.points[index])


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = Points(torch.randn(320, 8), torch.device("cuda", local_rank))
        sampler = DistributedSampler(dataset)
        options = {"batch_size": 20, "num_workers": 4, "multiprocessing_context": "fork", "pin_memory": False}
        loader = DataLoader(dataset, sampler=sampler, **options)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
