"""What is trained on one device first, without a group, is moved to the current one; the ranks select theirs."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def fit(model, optimizer, inputs, targets):
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def alone():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 1).to(device)
    inputs = torch.randn(32, 4, device=device)
    fit(model, torch.optim.SGD(model.parameters(), lr=0.1), inputs, inputs.sum(1, keepdim=True))


def together():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        model = DDP(nn.Linear(4, 1).to(local_rank), device_ids=[local_rank])
        inputs = torch.randn(32, 4, device=f"cuda:{local_rank}")
        fit(model, torch.optim.SGD(model.parameters(), lr=0.1), inputs, inputs.sum(1, keepdim=True))
    finally:
        dist.destroy_process_group()


alone()
together()
