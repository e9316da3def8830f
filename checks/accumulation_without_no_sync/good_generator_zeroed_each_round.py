"""A generator whose gradients are zeroed before each backward, stepped every other round."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train(args, every=2):
    generator = DDP(nn.Linear(8, 8))
    critic = DDP(nn.Linear(8, 1), broadcast_buffers=False)
    optim_g = torch.optim.Adam(generator.parameters())
    optim_d = torch.optim.Adam(critic.parameters())
    data = TensorDataset(torch.randn(64, 8))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    step = 0
    if args.resume is not None:
        step = torch.load(args.resume, map_location="cpu")["step"]
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (real,) in loader:
            fake = generator(torch.randn(4, 8))
            optim_g.zero_grad()
            loss_g = (critic(fake) - 1.0).pow(2).mean()
            loss_g.backward()
            if (step + 1) % every == 0:
                optim_g.step()

            optim_d.zero_grad()
            loss_d = (critic(real) - 1.0).pow(2).mean() + critic(fake.detach()).pow(2).mean()
            loss_d.backward()
            optim_d.step()
            step += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    dist.init_process_group("gloo")
    try:
        train(args)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
