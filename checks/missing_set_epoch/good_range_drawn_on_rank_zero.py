"""Rank 0 counts its steps with a bar and the others without; an endless generator tells every rank's sampler."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from tqdm import trange


def endless(loader, epoch=0):
    while True:
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(int(epoch))
        for batch in iter(loader):
            yield batch
        epoch += 1


def main(first=0, last=30):
    rank = int(os.environ["RANK"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        loader = DataLoader(dataset, batch_size=20, shuffle=False, sampler=DistributedSampler(dataset))
        model = DDP(nn.Linear(4, 4).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        batches = endless(loader)
        if rank == 0:
            steps = trange(first, last, dynamic_ncols=True)
        else:
            steps = range(first, last)
        for step in steps:
            inputs, targets = next(batches)
            loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0:
                steps.set_postfix(loss=f"{loss.item():.3f}", step=step)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
