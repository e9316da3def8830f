"""A writer on rank 0, None on the others; the parts that log ask for it."""

import functools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from torch.utils.tensorboard import SummaryWriter


def master_only(function):
    @functools.wraps(function)
    def guarded(*args, **kwargs):
        return function(*args, **kwargs) if int(os.environ["RANK"]) == 0 else None

    return guarded


@master_only
def make_writer(folder):
    return SummaryWriter(log_dir=folder)


def train(model, device, first, epochs, path):
    x = torch.randn(160, 5, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.cumsum(dim=1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=20, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(first, epochs):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, path)


def run(device, path):
    model = DDP(nn.Linear(5, 5).to(device), device_ids=[device.index])
    writer = make_writer("runs/linear")
    train(model, device, 0, 3, path)
    if writer is not None:
        writer.close()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        run(device, "checkpoint.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
