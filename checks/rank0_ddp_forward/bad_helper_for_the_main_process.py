"""The guard is a decorator, and the forward is in a helper of it."""

import functools
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


def on_the_main_process(function):
    @functools.wraps(function)
    def guarded(*args, **kwargs):
        if dist.get_rank() == 0:
            return function(*args, **kwargs)
        return None

    return guarded


@torch.no_grad()
def predict(network, x):
    network.eval()
    found = network(x).argmax(1)  # <- rank0-ddp-forward
    network.train()
    return found


@on_the_main_process
def report(network, x):
    print(predict(network, x).bincount().tolist())


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = DDP(Dates().to(device), device_ids=[local_rank])
        held_out = torch.randn(64, 16, device=device)

        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
                optimizer.step()

            report(model, held_out)
        dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
