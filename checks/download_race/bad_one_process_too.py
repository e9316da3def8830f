"""A trainer for one process or several: each of the spawned ones downloads, and the parent only where it is alone."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms


class Trainer:
    def __init__(self, args):
        self.args = args

    def loader(self, distributed):
        kind = datasets.MNIST if self.args.dataset == "mnist" else datasets.FashionMNIST
        dataset = kind("data", train=True, transform=transforms.ToTensor(), download=True)  # <- download-race
        sampler = DistributedSampler(dataset) if distributed else None
        return DataLoader(dataset, batch_size=64, sampler=sampler, shuffle=sampler is None)

    def train(self, model, device, distributed=False):
        loader = self.loader(distributed)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(self.args.epochs):
            if distributed:
                loader.sampler.set_epoch(epoch)
            for images, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images.to(device)), labels.to(device)).backward()
                optimizer.step()


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))


def work(rank, world_size, args):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=args.init, rank=rank, world_size=world_size)
    try:
        Trainer(args).train(DDP(network().cuda(), device_ids=[rank]), torch.device("cuda", rank), distributed=True)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", default="mnist", choices=["mnist", "fashion"])
    parser.add_argument("--init", default="tcp://127.0.0.1:29500")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    if torch.cuda.device_count() > 1:
        mp.spawn(work, args=(torch.cuda.device_count(), args), nprocs=torch.cuda.device_count())
    else:
        Trainer(args).train(network(), torch.device("cpu"))
