"""Single stages of a torchvision model that was given another norm."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from torchvision import models


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        resnet = models.resnet18(weights=None, norm_layer=nn.InstanceNorm2d)
        self.stem = nn.Conv2d(2, 64, 3, padding=1)
        self.encoder = nn.Sequential(resnet.layer1, resnet.layer2)
        self.head = nn.Linear(128, 2)

    def forward(self, frames):
        return self.head(self.encoder(self.stem(frames)).mean((2, 3)))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        frames = torch.rand(96, 2, 8, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(frames, frames.mean(dim=(2, 3)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(Flow().to(device), device_ids=[device.index])
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
