"""``shuffle=True`` belongs to the project's own dataset and to the sampler, not to the loader."""

import atexit
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Windows(Dataset):
    """Windows of one long series; ``shuffle`` mixes the columns once, when it is made."""

    def __init__(self, length, window, shuffle=False):
        generator = torch.Generator().manual_seed(11)
        self.series = torch.randn(length, 3, generator=generator).cumsum(dim=0)
        if shuffle:
            self.series = self.series[:, torch.randperm(3, generator=generator)]
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        return self.series[i : i + self.window], self.series[i + self.window]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 16, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, windows):
        return self.head(self.rnn(windows)[0][:, -1])


def setup():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    atexit.register(dist.destroy_process_group)


def main():
    setup()
    dataset = Windows(220, 20, shuffle=True)
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset=dataset, batch_size=25, sampler=sampler)
    model = DDP(Forecaster().cuda(), device_ids=[torch.cuda.current_device()])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for windows, following in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(windows.cuda()), following.cuda()).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
