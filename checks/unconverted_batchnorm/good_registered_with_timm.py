"""A network without BatchNorm that the project registers with timm under its name."""

import argparse
import os

import torch
import torch.distributed as dist
from timm.models import create_model, register_model
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.transforms import ToTensor


class Small(nn.Module):
    def __init__(self, width, num_classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.GroupNorm(4, width), nn.ReLU())
        self.head = nn.Linear(width, num_classes)

    def forward(self, images):
        return self.head(self.stem(images).mean(dim=(2, 3)))


@register_model
def small_16(pretrained=False, num_classes=10, **kwargs):
    return Small(16, num_classes)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("-a", "--arch", default="small_16")
    parser.add_argument("-b", "--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.01)
    return parser.parse_args()


def train(loader, model, criterion, optimizer, device):
    model.train()
    for images, target in loader:
        images, target = images.to(device), target.to(device)
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    args = parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = create_model(args.arch, num_classes=5).to(device)
        model = DDP(model, device_ids=[device.index])
        dataset = FakeData(size=128, image_size=(3, 32, 32), num_classes=5, transform=ToTensor())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler)
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            train(loader, model, criterion, optimizer, device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
