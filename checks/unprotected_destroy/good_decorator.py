"""A decorator joins the run before the function and leaves it in a finally block."""

import functools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def distributed(function):
    @functools.wraps(function)
    def run(*args, **kwargs):
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
        try:
            return function(device, *args, **kwargs)
        finally:
            dist.destroy_process_group()

    return run


@distributed
def train(device, epochs=2):
    x = torch.randn(240, 4, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.softmax(dim=1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=24, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(4, 4), nn.Softmax(dim=1)).to(device), device_ids=[device.index])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()


if __name__ == "__main__":
    train()
