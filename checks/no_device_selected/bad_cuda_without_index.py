"""A Trainer whose device is "cuda": the current device, which is 0 in a process that has selected none."""

import argparse
from contextlib import contextmanager

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@contextmanager
def process_group(backend):
    distributed.init_process_group(backend)
    try:
        yield distributed.get_rank()
    finally:
        distributed.destroy_process_group()


class Trainer:
    def __init__(self, args):
        self.device = torch.device("cuda")
        self.network = nn.GRU(4, args.width, batch_first=True)
        self.model = DistributedDataParallel(self.network.to(self.device))  # <- no-device-selected
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        waves = torch.sin(torch.rand(192, 12, 4, generator=torch.Generator().manual_seed(0)).cumsum(dim=1))
        self.dataset = TensorDataset(waves)
        self.sampler = DistributedSampler(self.dataset)
        self.loader = DataLoader(self.dataset, args.batch_size, sampler=self.sampler)

    def train(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for (waves,) in self.loader:
                self.optimizer.zero_grad()
                output, _ = self.model(waves.to(self.device))
                output.square().mean().backward()
                self.optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    with process_group("nccl"):
        Trainer(args).train(args.epochs)
