"""A Trainer builds its sampler, sets its epoch, and never hands it to the loader."""

import os

import torch
from torch import distributed as td
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils import data


class Pairs(data.Dataset):
    """Two noisy views of one of 200 prototypes."""

    def __init__(self, n=200, width=24):
        self.prototypes = torch.randn(n, width, generator=torch.Generator().manual_seed(2))

    def __len__(self):
        return len(self.prototypes)

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        noise = torch.randn(2, self.prototypes.shape[1], generator=generator) * 0.1
        return self.prototypes[i] + noise[0], self.prototypes[i] + noise[1]


class ContrastiveTrainer:
    def __init__(self, local_rank):
        self.device = torch.device(f"cuda:{local_rank}")
        self.dataset = Pairs()
        self.sampler = data.DistributedSampler(self.dataset)
        self.encoder = DDP(nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 16)).to(self.device))
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)

    def loader(self):
        return data.DataLoader(self.dataset, batch_size=20, drop_last=True)  # <- unsharded-loader

    def loss(self, first, second):
        both = self.encoder(torch.cat([first, second]).to(self.device))
        one, two = nn.functional.normalize(both, dim=1).chunk(2)
        return nn.functional.cross_entropy(one @ two.T / 0.2, torch.arange(len(one), device=self.device))

    def train(self, epochs):
        loader = self.loader()
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for first, second in loader:
                self.optimizer.zero_grad()
                self.loss(first, second).backward()
                self.optimizer.step()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    td.init_process_group(td.Backend.NCCL)
    try:
        ContrastiveTrainer(local_rank).train(epochs=2)
    finally:
        td.destroy_process_group()


if __name__ == "__main__":
    main()
