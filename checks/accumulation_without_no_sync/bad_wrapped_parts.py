"""Each part of an agent is wrapped by itself; one function trains the part that it is told the name of."""

import os
from argparse import Namespace

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

PARTS = ("encoder", "critic")
MICRO_STEPS = 3


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(12, 1)
        self.critic = nn.Linear(12, 1)


def wrapped(**parts):
    return Namespace(**{name: DDP(part) for name, part in parts.items()})


def train_part(name, parts, optimizer, loader, steps):
    part = getattr(parts, name)
    batches = iter(loader)
    for i in range(MICRO_STEPS * steps):
        features, target = next(batches)
        loss = nn.functional.mse_loss(part(features.cuda()), target.cuda())
        (loss / MICRO_STEPS).backward()  # <- accumulation-without-no-sync
        if (i + 1) % MICRO_STEPS == 0:
            optimizer.step()
            optimizer.zero_grad()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        generator = torch.Generator().manual_seed(8)
        features = torch.randn(384, 12, generator=generator)
        data = TensorDataset(features, features.sum(1, keepdim=True))
        sampler = DistributedSampler(data, shuffle=False)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        agent = Agent().cuda()
        parts = wrapped(**agent._modules) if dist.is_initialized() else agent
        optimizers = {name: torch.optim.AdamW(getattr(agent, name).parameters(), lr=0.01) for name in PARTS}
        for _ in range(2):
            for name in PARTS:
                train_part(name, parts, optimizers[name], loader, steps=4)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
