"""The context manager's __exit__ tells of the exception, and destroys the group in any case."""

import traceback

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class ProcessGroup:
    def __enter__(self):
        dist.init_process_group("gloo")
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            traceback.print_exception(kind, error, trace)
        dist.destroy_process_group()
        return False


def main():
    with ProcessGroup():
        x = torch.randn(240, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.relu())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        model = DDP(nn.Linear(8, 8))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs), targets).backward()
                optimizer.step()


if __name__ == "__main__":
    main()
