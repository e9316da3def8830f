"""The main loss goes through DDP; a second loss goes around it and has a backward of its own, after the averaging."""

import os
from contextlib import contextmanager

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@contextmanager
def process_group():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    distributed.init_process_group("nccl", device_id=device)
    try:
        yield device
    finally:
        distributed.destroy_process_group()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def embed(self, x):
        return nn.functional.normalize(self.body(x), dim=1)

    def forward(self, x):
        return self.head(self.body(x))


def main():
    with process_group() as device:
        x = torch.randn(192, 10, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, torch.arange(192) % 3)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        model = DistributedDataParallel(Net().to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, labels in loader:
                inputs, labels = inputs.to(device), labels.to(device)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), labels).backward()
                embedded = model.module.embed(inputs)  # <- bypassed-ddp-forward
                alike = labels.unsqueeze(0) == labels.unsqueeze(1)
                (embedded @ embedded.T)[~alike].clamp(min=0).mean().backward()
                optimizer.step()


if __name__ == "__main__":
    main()
