"""The samplers do not shuffle: one order for every epoch is what is asked for."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def epochs_over(loader, count):
    for epoch in range(count):
        for step, batch in enumerate(loader):
            yield epoch, step, batch


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        series = torch.sin(torch.arange(301) * 0.1)
        dataset = TensorDataset(series[:-1].unsqueeze(1), series[1:].unsqueeze(1))
        curriculum = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=15, sampler=curriculum)
        model = DDP(nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch, step, (now, following) in epochs_over(loader, 2):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(now.to(device)), following.to(device)).backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
