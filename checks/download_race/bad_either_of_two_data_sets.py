"""One branch for two of the data sets that an option names, which asks for a folder: every rank unpacks one there."""

import argparse
import json
import os

import torch
import torch.distributed as dist
import torchvision
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.transforms import ToTensor


def data_set(options):
    if options.data == "folder":
        assert options.images is not None
        return torchvision.datasets.ImageFolder(options.images, transform=ToTensor())
    elif options.data == "svhn" or options.data == "digits":
        assert options.cache is not None
        return torchvision.datasets.SVHN(options.cache, transform=ToTensor(), download=True)  # <- download-race
    else:
        raise ValueError(options.data)


def options_from(path):
    parser = argparse.ArgumentParser()
    with open(path) as file:
        parser.set_defaults(**json.load(file))
    return parser.parse_args()


def main():
    options = options_from("run.json")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = data_set(options)
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=64, sampler=sampler)
        net = nn.Sequential(nn.Flatten(), nn.Linear(3072, 10)).to(device)
        model = DistributedDataParallel(net, device_ids=[device])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for images, digits in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images.to(device)), digits.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
