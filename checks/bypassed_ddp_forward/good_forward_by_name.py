"""``ddp.forward(x)`` by name, a partial and an alias of the wrapper: all of them are DDP's own forward."""

import functools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def diffusion_loss(model, clean):
    level = torch.rand(len(clean), 1, device=clean.device)
    noise = torch.randn_like(clean)
    return (model(torch.cat([clean + level * noise, level], dim=1)) - noise).square().mean()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = TensorDataset(torch.randn(160, 4, generator=torch.Generator().manual_seed(0)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        net = DDP(nn.Sequential(nn.Linear(5, 32), nn.SiLU(), nn.Linear(32, 4)).to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        compute_loss = functools.partial(diffusion_loss, net)
        by_name = functools.partial(diffusion_loss, net.forward)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for step, (clean,) in enumerate(loader):
                clean = clean.to(device)
                loss = compute_loss(clean) if step % 2 else by_name(clean)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
