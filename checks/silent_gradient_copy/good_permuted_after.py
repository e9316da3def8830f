"""A convolution first and the permute after it: the convolution sees an ordinary batch."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class PixelClassifier(nn.Module):
    def __init__(self, width=24, classes=3):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(2, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU())
        self.decide = nn.Linear(width, classes)

    def forward(self, images):
        return self.decide(self.look(images).permute(0, 2, 3, 1))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        images = torch.rand(64, 2, 12, 12, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, (images.sum(dim=1) * 1.49).long())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(PixelClassifier().to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch, labels in loader:
                optimizer.zero_grad()
                scores = model(batch.to(device)).flatten(0, 2)
                nn.functional.cross_entropy(scores, labels.to(device).flatten()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
