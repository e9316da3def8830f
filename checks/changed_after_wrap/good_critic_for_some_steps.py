"""Both networks are frozen and thawed in turn as wholes, in a loop that ends by a count of steps."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def endless(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def learns(network, flag=True):
    for parameter in network.parameters():
        parameter.requires_grad = flag


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        generator, critic = nn.Linear(16, 16).to(device), nn.Linear(16, 1).to(device)
        if dist.is_initialized():
            generator, critic = DDP(generator, device_ids=[local_rank]), DDP(critic, device_ids=[local_rank])
        drawing = torch.optim.SGD(generator.parameters(), lr=0.05)
        judging = torch.optim.SGD(critic.parameters(), lr=0.05)
        batches = endless(loader, sampler)
        for step in range(1000):
            if step > options.steps:
                break
            x = next(batches)[0].to(device)
            learns(generator, False)
            learns(critic, True)
            judging.zero_grad()
            (critic(generator(x)) - critic(x)).mean().backward()
            judging.step()
            learns(generator, True)
            learns(critic, False)
            drawing.zero_grad()
            (-critic(generator(x)).mean()).backward()
            drawing.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
