"""The optimizer is looked up by its name, the model's parts are not: one of them is never used."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Branches(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Linear(16, width)
        self.head = nn.Linear(width, 4)
        self.auxiliary = nn.Linear(width, 8)

    def forward(self, x):
        return self.head(self.body(x).relu())


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = DDP(Branches().to(device), device_ids=[local_rank])  # <- unused-parameters
        optimizer = getattr(torch.optim, os.environ.get("OPTIMIZER", "SGD"))(model.parameters(), lr=0.05)
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
