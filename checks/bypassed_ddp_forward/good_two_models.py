"""A generator and a discriminator, each in a DDP of its own, each called through it; the discriminator twice a step."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def mlp(width_in, width_out):
    return nn.Sequential(nn.Linear(width_in, 32), nn.LeakyReLU(0.2), nn.Linear(32, width_out))


class Adversaries:
    def __init__(self, device):
        self.device = device
        self.generator = DDP(mlp(4, 2).to(device), device_ids=[device.index])
        self.discriminator = DDP(mlp(2, 1).to(device), device_ids=[device.index])
        self.optimizer_g = torch.optim.Adam(self.generator.parameters(), lr=1e-3)
        self.optimizer_d = torch.optim.Adam(self.discriminator.parameters(), lr=1e-3)

    def step(self, real):
        fake = self.generator(torch.randn(len(real), 4, device=self.device))
        scores = self.discriminator(torch.cat([real, fake.detach()]))
        truth = torch.cat([torch.ones(len(real), 1), torch.zeros(len(real), 1)]).to(self.device)
        self.optimizer_d.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(scores, truth).backward()
        self.optimizer_d.step()

        self.optimizer_g.zero_grad()
        nn.functional.softplus(-self.discriminator(fake)).mean().backward()
        self.optimizer_g.step()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        angle = torch.rand(160, generator=torch.Generator().manual_seed(0)) * 6.28
        dataset = TensorDataset(torch.stack([angle.cos(), angle.sin()], dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        adversaries = Adversaries(device)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (real,) in loader:
                adversaries.step(real.to(device))
        if dist.get_rank() == 0:
            torch.save(adversaries.generator.module.state_dict(), "generator.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
