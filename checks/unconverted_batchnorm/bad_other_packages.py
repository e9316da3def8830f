"""A network of a package that is neither torchvision nor timm: its EfficientNet is full of BatchNorm layers."""

import argparse
import os

import torch
import torch.distributed as dist
from efficientnet_pytorch import EfficientNet
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.transforms import ToTensor

VARIANTS = ["efficientnet-b0", "efficientnet-b1", "efficientnet-b2"]


class Embedding(nn.Module):
    def __init__(self, variant, size, classes):
        super().__init__()
        self.base = EfficientNet.from_pretrained(VARIANTS[variant], num_classes=size)
        self.head = nn.Linear(size, classes, bias=False)

    def forward(self, images):
        return self.head(nn.functional.normalize(self.base(images)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=8)
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = Embedding(args.net, 64, 10).to(device)
        model = DDP(model, device_ids=[device.index])  # <- unconverted-batchnorm
        dataset = FakeData(size=128, image_size=(3, 64, 64), num_classes=10, transform=ToTensor())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for images, target in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images.to(device)), target.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
