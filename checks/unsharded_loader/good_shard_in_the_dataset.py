"""The dataset takes its part of the files when it is made; the loader may then shuffle freely."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset


class Recordings(Dataset):
    def __init__(self, seeds, shard=0, num_shards=1, length=16):
        usable = len(seeds) - len(seeds) % num_shards
        self.local_seeds = seeds[:usable][shard:][::num_shards]
        self.length = length

    def __len__(self):
        return len(self.local_seeds)

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(self.local_seeds[i])
        wave = torch.randn(self.length, generator=generator).cumsum(dim=0)
        return wave[:-1], wave[-1:]


def load_data(batch_size):
    dataset = Recordings(list(range(256)), shard=dist.get_rank(), num_shards=dist.get_world_size())
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, drop_last=True)
    while True:
        yield from loader


def main(steps=24):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        data = load_data(batch_size=16)
        model = DDP(nn.Sequential(nn.Linear(15, 32), nn.SiLU(), nn.Linear(32, 1)).to(device), device_ids=[device.index])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for _ in range(steps):
            past, following = next(data)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(past.to(device)), following.to(device)).backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
