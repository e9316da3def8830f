"""Rank 0 prints how many results of its own it has, which is no measure of the model."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def features_of(model, loader, device):
    model.eval()
    with torch.no_grad():
        return torch.cat([model(x.to(device)) for x, _ in loader])


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(160, 12, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.argmax(dim=1) % 4)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        held_out = DataLoader(dataset, batch_size=20, sampler=DistributedSampler(dataset, shuffle=False))
        model = DDP(nn.Linear(12, 4).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
        features = features_of(model, held_out, device)
        if dist.get_rank() == 0:
            print(f"the features of one rank: {features.shape}")
        torch.save(features, f"features.{dist.get_rank()}.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
