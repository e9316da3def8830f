"""An endless generator hides the epochs: every pass over the loader comes in the same order."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Gaussians(Dataset):
    def __init__(self, n=200):
        self.points = torch.randn(n, 4, generator=torch.Generator().manual_seed(8)) * torch.tensor([1.0, 2.0, 0.5, 1.5])

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        return self.points[i]


def endless(loader):
    while True:
        for batch in loader:  # <- missing-set-epoch
            yield batch


def corrupt(points, level):
    return points + level * torch.randn_like(points)


def main(steps=30):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = Gaussians()
        loader = DataLoader(dataset, batch_size=10, sampler=DistributedSampler(dataset), drop_last=True)
        batches = endless(loader)
        model = nn.Sequential(nn.Linear(4, 48), nn.SiLU(), nn.Linear(48, 4)).to(device)
        model = DistributedDataParallel(model, device_ids=[device.index])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for step in range(steps):
            clean = next(batches).to(device)
            loss = (model(corrupt(clean, 0.3)) - clean).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 0 and dist.get_rank() == 0:
                print(step, round(loss.item(), 4))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
