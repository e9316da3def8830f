"""The critic is held in no_sync() while the generator learns from it: its own gradients are thrown away."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=24):
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(24, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        critic = DDP(nn.Linear(1, 1).cuda(), device_ids=[local_rank])
        critic_optimizer = torch.optim.Adam(critic.parameters(), lr=0.001)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for features, target in loader:
                made = model(features.cuda())
                critic_optimizer.zero_grad()
                (critic(made.detach()).mean() - critic(target.cuda()).mean()).backward()
                critic_optimizer.step()
                optimizer.zero_grad()
                with critic.no_sync():
                    (-critic(made).mean()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
