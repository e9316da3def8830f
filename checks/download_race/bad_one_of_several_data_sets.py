"""Which data set is an option; whoever takes the second one downloads it on every rank."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import CIFAR10, ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor


def dataset_of(options):
    transform = Compose([Resize((32, 32)), ToTensor()])
    if options.data == "folder":
        return ImageFolder(options.root, transform=transform)
    elif options.data == "cifar":
        return CIFAR10(options.root, transform=transform, download=True)  # <- download-race
    raise ValueError(options.data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="folder", choices=("folder", "cifar"))
    parser.add_argument("--root", default="data")
    options = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = dataset_of(options)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)
        model = DDP(nn.Sequential(nn.Flatten(), nn.Linear(3072, 10)).to(device), device_ids=[device.index])
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
