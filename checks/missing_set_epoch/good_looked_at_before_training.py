"""A generator that logs goes over the loaders, once before the training as well: that draws one epoch, not several."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_loaders(datasets, shuffles, batch_sizes):
    loaders = []
    for dataset, shuffle, batch_size in zip(datasets, shuffles, batch_sizes, strict=True):
        sampler = DistributedSampler(dataset, shuffle=shuffle)
        loaders.append(DataLoader(dataset, batch_size=batch_size, sampler=sampler))
    return loaders


def logged(loader, header):
    for number, batch in enumerate(loader):
        if number % 4 == 0:
            print(header, number)
        yield batch


@torch.no_grad()
def show(model, loader):
    model.eval()
    for inputs, targets in logged(loader, "look"):
        nn.functional.mse_loss(model(inputs), targets)


def main(options):
    dist.init_process_group("gloo")
    try:
        x = torch.rand(192, 3, generator=torch.Generator().manual_seed(0))
        datasets = [TensorDataset(x, x.sum(dim=1, keepdim=True)), TensorDataset(x[:32], x[:32, :1])]
        sizes = [options.batch_size] + [options.batch_size_test] * (len(datasets) - 1)
        train_loader, test_loader = make_loaders(datasets, [True, False], sizes)
        model = DDP(nn.Linear(3, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        if options.look_first:
            show(model, test_loader)
        for epoch in range(options.epochs):
            train_loader.sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in logged(train_loader, f"epoch {epoch}"):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs), targets).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--batch-size-test", type=int, default=16)
    parser.add_argument("--look-first", action="store_true")
    main(parser.parse_args())
