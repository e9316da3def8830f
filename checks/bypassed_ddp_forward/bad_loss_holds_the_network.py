"""The loss is a module that was given the bare network when it was made, and runs it itself."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class DenoisingLoss(nn.Module):
    def __init__(self, network, sigma=0.5):
        super().__init__()
        self.network = network
        self.sigma = sigma

    def forward(self, clean):
        noise = torch.randn_like(clean)
        predicted = self.network(clean + self.sigma * noise)  # <- bypassed-ddp-forward
        return (predicted - noise).square().mean()


def main():
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    try:
        network = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 3)).to(gpu)
        criterion = DenoisingLoss(network)
        model = DDP(network, device_ids=[gpu])
        points = nn.functional.normalize(torch.randn(224, 3, generator=torch.Generator().manual_seed(0)), dim=1)
        dataset = TensorDataset(points)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=28, sampler=sampler)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (clean,) in loader:
                optimizer.zero_grad()
                criterion(clean.to(gpu)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
