"""The network with BatchNorm is a frozen feature extractor that is not wrapped; DDP holds the linear head alone."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.models import resnet18
from torchvision.transforms import ToTensor


class LinearClassifier(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.linear = nn.Linear(width, classes)
        nn.init.zeros_(self.linear.bias)

    def forward(self, features):
        return self.linear(features.flatten(1))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        backbone = resnet18()
        backbone.fc = nn.Identity()
        backbone.to(device).eval()
        head = DDP(LinearClassifier(512, 5).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        dataset = FakeData(size=64, image_size=(3, 32, 32), num_classes=5, transform=ToTensor())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for images, labels in loader:
                with torch.no_grad():
                    features = backbone(images.to(device))
                optimizer.zero_grad()
                nn.functional.cross_entropy(head(features), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
