"""set_epoch is called every epoch, always with the same number."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SEED = 17


def train_one_epoch(model, loader, optimizer, device):
    loader.sampler.set_epoch(SEED)
    for x, y in loader:  # <- missing-set-epoch
        optimizer.zero_grad()
        nn.functional.smooth_l1_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.rand(256, 2, generator=torch.Generator().manual_seed(SEED))
        dataset = TensorDataset(x, x.prod(dim=1, keepdim=True))
        loader = DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset))
        model = DDP(nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1)).to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for epoch in range(3):
            train_one_epoch(model, loader, optimizer, device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
