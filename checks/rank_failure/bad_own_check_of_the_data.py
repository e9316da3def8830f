"""The dataset refuses a sample with missing values, when it is drawn: on the one rank that draws it."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Readings(Dataset):
    def __init__(self, rows=128):
        self.rows = torch.randn(rows, 6, generator=torch.Generator().manual_seed(0))
        self.rows[7, 3] = float("nan")

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        if row.isnan().any():
            raise ValueError(f"reading {index} has missing values")  # <- rank-failure
        return row[:5], row[5:]


@contextmanager
def process_group():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        yield device
    finally:
        dist.destroy_process_group()


def main():
    with process_group() as device:
        dataset = Readings()
        sampler = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(5, 1).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()


if __name__ == "__main__":
    main()
