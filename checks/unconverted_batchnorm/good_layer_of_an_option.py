"""Options choose the layers: one for SyncBatchNorm, and one for a further block with BatchNorm that is off by default."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.transforms import ToTensor


class Pyramid(nn.Module):
    """A block of another paper, with the layers that it had there."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(width, width, 3, padding=2, dilation=2), nn.BatchNorm2d(width))

    def forward(self, x):
        return x + self.layers(x)


class Network(nn.Module):
    def __init__(self, classes, pyramid=False, norm_layer=nn.BatchNorm2d):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), norm_layer(16), nn.ReLU())
        self.pyramid = Pyramid(16) if pyramid else None
        self.head = nn.Linear(16, classes)

    def forward(self, images):
        x = self.stem(images)
        if self.pyramid is not None:
            x = self.pyramid(x)
        return self.head(x.mean((2, 3)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sync-bn", action="store_true", help="use the statistics of all ranks in BatchNorm")
    parser.add_argument("--pyramid", action="store_true")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        norm_layer = nn.SyncBatchNorm if args.sync_bn else nn.BatchNorm2d
        model = DDP(Network(5, args.pyramid, norm_layer).to(device), device_ids=[device.index])
        dataset = FakeData(size=128, image_size=(3, 32, 32), num_classes=5, transform=ToTensor())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for images, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images.to(device)), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
