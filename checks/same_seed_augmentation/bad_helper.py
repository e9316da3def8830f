"""A helper seeds everything with an option; another makes the transforms."""

import os
import argparse
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms

def seed_everything(seed):
    random.seed(seed)
    torch.manual_seed(seed)  # <- same-seed-augmentation
    torch.cuda.manual_seed_all(seed)


def transform_for(train):
    steps = [transforms.RandomResizedCrop(32), transforms.ColorJitter(0.2)] if train else [transforms.Resize(32)]
    return transforms.Compose([*steps, transforms.ToTensor()])


def dealt(dataset, options):
    sampler = DistributedSampler(dataset)
    return DataLoader(dataset, options.batch_size, sampler=sampler, num_workers=options.workers), sampler


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=4)
    return parser.parse_args()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        options = parsed()
        seed_everything(options.seed)
        loader, sampler = dealt(datasets.FakeData(image_size=(3, 32, 32), transform=transform_for(train=True)), options)
        model = DDP(nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 10)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for images, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images.cuda()), labels.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
