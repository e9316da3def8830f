"""An endless generator that sets the epoch at the start of every pass."""

import itertools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def forever(loader, sampler):
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        yield from loader


def main(steps=24):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        tokens = torch.randint(0, 30, (200, 6), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(tokens, tokens.float().mean(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset, drop_last=True)
        batches = forever(DataLoader(dataset, batch_size=20, sampler=sampler), sampler)
        model = DDP(nn.Sequential(nn.Embedding(30, 8), nn.Flatten(), nn.Linear(48, 1)).to(device))
        optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
        for _ in range(steps):
            sequence, target = next(batches)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(sequence.to(device)), target.to(device)).backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
