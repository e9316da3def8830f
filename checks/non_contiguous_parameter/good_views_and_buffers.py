"""The parameters are row-major: transposes are views in the forward, and what has gaps is a buffer, not a parameter."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class TiedAutoencoder(nn.Module):
    def __init__(self, width=20, code=5):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(code, width))
        nn.init.orthogonal_(self.weight)
        self.register_buffer("mean", torch.zeros(width, 2)[:, 0])

    def forward(self, x):
        code = nn.functional.linear(x - self.mean, self.weight)
        return nn.functional.linear(code, self.weight.t()) + self.mean


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = TensorDataset(torch.randn(96, 20, generator=torch.Generator().manual_seed(0)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(TiedAutoencoder().to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (batch,) in loader:
                batch = batch.to(device)
                optimizer.zero_grad()
                nn.functional.mse_loss(model(batch), batch).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
