"""Gain and offset are columns of one table of calibration values: parameters with gaps between their elements."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Calibration(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.gain = nn.Parameter(table[:, 0])
        self.offset = nn.Parameter(table[:, 1])
        self.head = nn.Linear(len(table), 1)

    def forward(self, readings):
        return self.head(readings * self.gain + self.offset)


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
        table = torch.stack([torch.ones(10), torch.zeros(10), torch.arange(10.0)], dim=1).to(device)
        model = Calibration(table).to(device)
        model = DDP(model, device_ids=[device.index])  # <- non-contiguous-parameter
        readings = torch.randn(96, 10, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(readings, readings.mean(dim=1, keepdim=True) * 3)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()


if __name__ == "__main__":
    main()
