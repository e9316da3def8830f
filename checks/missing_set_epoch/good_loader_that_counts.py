"""A loader wrapper counts its own passes and tells the sampler before each of them."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class DeviceLoader:
    """Iterates over a DataLoader, with its batches on the rank's own device."""

    def __init__(self, dataset, batch_size, device):
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size, sampler=self.sampler)
        self.device = device
        self.passes = 0

    def __iter__(self):
        self.sampler.set_epoch(self.passes)
        self.passes += 1
        for batch in self.loader:
            yield [part.to(self.device, non_blocking=True) for part in batch]

    def __len__(self):
        return len(self.loader)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(192, 7, generator=torch.Generator().manual_seed(0))
        loader = DeviceLoader(TensorDataset(x, x.argmin(dim=1)), 16, device)
        model = DDP(nn.Linear(7, 7).to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(3):
            for inputs, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), labels).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
