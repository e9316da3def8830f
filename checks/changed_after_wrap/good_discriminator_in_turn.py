"""The discriminator stops learning for the step of the generator, and learns again in its own."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def learns(network, flag):
    for parameter in network.parameters():
        parameter.requires_grad = flag


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        generator = DDP(nn.Linear(16, 16).to(device), device_ids=[local_rank])
        critic = DDP(nn.Linear(16, 1).to(device), device_ids=[local_rank])
        drawing = torch.optim.SGD(generator.parameters(), lr=0.05)
        judging = torch.optim.SGD(critic.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, _ in loader:
                learns(critic, False)
                drawing.zero_grad()
                (-critic(generator(x.to(device))).mean()).backward()
                drawing.step()
                learns(critic, True)
                judging.zero_grad()
                (critic(generator(x.to(device)).detach()) - critic(x.to(device))).mean().backward()
                judging.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
