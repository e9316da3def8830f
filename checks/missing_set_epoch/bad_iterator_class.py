"""The loader is gone through by an iterator that logs; the epoch is written into an attribute that nobody reads."""

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class LogProgress:
    def __init__(self, name, iterable, updates=5):
        self.name = name
        self.iterable = iterable
        self.updates = updates

    def __iter__(self):
        self._iterator = iter(self.iterable)  # <- missing-set-epoch
        self._index = -1
        self._begin = time.time()
        return self

    def __next__(self):
        self._index += 1
        try:
            value = next(self._iterator)
        except StopIteration:
            raise
        else:
            return value
        finally:
            if self._index % max(1, len(self.iterable) // self.updates) == 0:
                print(self.name, self._index, f"{time.time() - self._begin:.1f}s")


class Solver:
    def __init__(self, loaders, model):
        self.loaders = loaders
        self.model = DDP(model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def train(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            self._run_one_epoch(epoch)

    def _run_one_epoch(self, epoch):
        loader = self.loaders["train"]
        loader.epoch = epoch
        for _, (inputs, targets) in enumerate(LogProgress(f"epoch {epoch + 1}", loader)):
            loss = nn.functional.mse_loss(self.model(inputs), targets)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def main():
    dist.init_process_group("gloo")
    try:
        x = torch.rand(192, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
        loader = DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset))
        Solver({"train": loader}, nn.Linear(3, 1)).train(epochs=3)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
