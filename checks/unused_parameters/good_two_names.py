"""The layers have names of their own, and are used through a list or a function."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Aliases(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        first, last = nn.Linear(16, width), nn.Linear(width, 4)
        self.first = first
        self.body = nn.Linear(width, width)
        self.chain = [self.body, nn.ReLU()]
        self.last = last
        self.finish = lambda x: last(x)
        self.start = nn.Sequential(first, nn.ReLU())

    def forward(self, x):
        x = self.start(x)
        for layer in self.chain:
            x = layer(x)
        return self.finish(x)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = DDP(Aliases().to(device), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
