"""A term that went around DDP is added to one that went through it: DDP averages the sum of both in one backward."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


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
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(192, 10, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, torch.arange(192) % 3)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        model = DDP(Net().to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, labels in loader:
                inputs, labels = inputs.to(device), labels.to(device)
                loss = nn.functional.cross_entropy(model(inputs), labels)
                embedded = model.module.embed(inputs)
                apart = labels.unsqueeze(0) != labels.unsqueeze(1)
                loss = loss + (embedded @ embedded.T)[apart].clamp(min=0).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
