"""The backbone is made by a text that is run as code; by default it names a ResNet, with its BatchNorm layers."""

import argparse
import os

import torch
import torch.distributed as dist
import torchvision
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.transforms import ToTensor


class Regressor(nn.Module):
    def __init__(self, depth, outputs):
        super().__init__()
        exec("self.backbone = torchvision.models.resnet{}(weights=None)".format(depth))
        features = self.backbone.fc.in_features
        self.extractor = nn.Sequential(*list(self.backbone.children())[:-1])
        del self.backbone
        self.head = nn.Linear(features, outputs)

    def forward(self, x):
        return self.head(self.extractor(x).flatten(1))


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--depth", type=int, default=18, help="18, 34 or 50")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2)
    return parser.parse_args()


def main():
    args = parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = DDP(Regressor(args.depth, 1).to(device), device_ids=[device.index])  # <- unconverted-batchnorm
        dataset = FakeData(size=128, image_size=(3, 32, 32), num_classes=5, transform=ToTensor())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for images, target in loader:
                guess = model(images.to(device)).squeeze(1)
                loss = nn.functional.mse_loss(guess, target.float().to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
