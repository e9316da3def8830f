"""A trainer whose flag says that it is the first rank."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Dates(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 16))
        self.body = nn.Sequential(nn.Linear(16, width), nn.ReLU())
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        return self.head(self.body(x * self.scale))


class Trainer:
    def __init__(self, model, device, is_main):
        self.model, self.device, self.is_main = model, device, is_main
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def train(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.model(x.to(self.device)), y.to(self.device)).backward()
            self.optimizer.step()

    @torch.no_grad()
    def sample(self):
        if self.is_main:
            print(self.model(torch.randn(8, 16, device=self.device)))  # <- rank0-ddp-forward


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        trainer = Trainer(DDP(Dates().to(device), device_ids=[local_rank]), device, dist.get_rank() == 0)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            trainer.train(loader)
            trainer.sample()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
