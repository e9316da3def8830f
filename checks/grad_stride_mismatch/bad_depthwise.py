"""Depthwise and 1x1 convolutions get channels_last batches: PyTorch warns, and there is nothing to it (nominal)."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class SeparableBlock(nn.Sequential):
    def __init__(self, channels_in, channels_out):
        super().__init__(
            nn.Conv2d(channels_in, channels_in, 3, padding=1, groups=channels_in),
            nn.ReLU(),
            nn.Conv2d(channels_in, channels_out, 1),
            nn.ReLU(),
        )


class SmallMobileNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 1), nn.ReLU(), SeparableBlock(16, 32), SeparableBlock(32, 32))
        self.classifier = nn.Linear(32, classes)

    def forward(self, images):
        return self.classifier(self.features(images).mean(dim=(2, 3)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        images = torch.rand(96, 3, 16, 16, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, torch.arange(96) % 4)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, args.batch_size, sampler=sampler)
        model = DistributedDataParallel(SmallMobileNet().to(device), [device.index])  # <- grad-stride-mismatch (run)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for batch, labels in loader:
                batch = batch.to(device, memory_format=torch.channels_last)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(batch), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
