"""The generator's step asks the bare discriminator: its gradients are thrown away, and its own step is through DDP."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def mlp(width_in, width_out):
    return nn.Sequential(nn.Linear(width_in, 32), nn.LeakyReLU(0.2), nn.Linear(32, width_out))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        angle = torch.rand(160, generator=torch.Generator().manual_seed(0)) * 6.28
        dataset = TensorDataset(torch.stack([angle.cos(), angle.sin()], dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        generator = DDP(mlp(4, 2).to(device), device_ids=[device.index])
        critic = DDP(mlp(2, 1).to(device), device_ids=[device.index])
        optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
        optimizer_c = torch.optim.Adam(critic.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (real,) in loader:
                fake = generator(torch.randn(len(real), 4, device=device))
                optimizer_g.zero_grad()
                nn.functional.softplus(-critic.module(fake)).mean().backward()
                optimizer_g.step()

                optimizer_c.zero_grad()
                both = critic(torch.cat([real.to(device), fake.detach()]))
                (both[len(real) :].mean() - both[: len(real)].mean()).backward()
                optimizer_c.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
