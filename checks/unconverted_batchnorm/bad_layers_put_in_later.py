"""A Sequential that is filled by add_module and extend, and a list into which a layer is inserted."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential()
        self.layers.add_module("conv", nn.Conv2d(2, 16, 3, padding=1))
        self.layers.add_module("norm", nn.BatchNorm2d(16))
        self.layers.extend([nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16)])
        head = [nn.Flatten(), nn.Linear(16 * 64, 2)]
        head.insert(0, nn.BatchNorm2d(16))
        self.head = nn.Sequential(*head)

    def forward(self, frames):
        return self.head(self.layers(frames))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        frames = torch.rand(96, 2, 8, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(frames, frames.mean(dim=(2, 3)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(Flow().to(device), device_ids=[device.index])  # <- unconverted-batchnorm
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch, flow in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(batch.to(device)), flow.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
