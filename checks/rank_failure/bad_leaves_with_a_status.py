"""A rank that meets a bad batch prints the error and leaves with a status of its own, without an exception."""

import os
import sys
import traceback

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def check(loss):
    if not torch.isfinite(loss):
        raise ValueError(f"the loss is {loss.item()}")  # <- rank-failure


def train(device):
    x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
    x[1::2] = float("nan")
    dataset = TensorDataset(x, x.abs())
    sampler = DistributedSampler(dataset, shuffle=False)
    loader = DataLoader(dataset, batch_size=12, sampler=sampler)
    model = DDP(nn.Linear(4, 4).to(device), device_ids=[device.index])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
            check(loss)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        train(device)
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    finally:
        dist.destroy_process_group()
