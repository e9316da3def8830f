"""``prepare`` downloads, in one process and once; ``train`` is what runs on several ranks."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import CIFAR10
from torchvision.transforms import ToTensor


def train(root):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = CIFAR10(root, transform=ToTensor())
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("prepare", "train"))
    parser.add_argument("--root", default="data")
    options = parser.parse_args()
    if options.command == "prepare":
        CIFAR10(options.root, download=True)
    elif options.command == "train":
        train(options.root)


if __name__ == "__main__":
    main()
