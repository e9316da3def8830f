"""Rank 0 keeps the features of all ranks in a table of the size of the data set, and prints what is in it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def features_of(model, loader, device):
    model.eval()
    table = None
    for x, index in loader:
        features, index = model(x.to(device)), index.to(device)
        if dist.get_rank() == 0 and table is None:
            table = torch.zeros(len(loader.dataset), features.shape[1], device=device)
        all_features = [torch.empty_like(features) for _ in range(dist.get_world_size())]
        all_indices = [torch.empty_like(index) for _ in range(dist.get_world_size())]
        dist.all_gather(all_features, features)
        dist.all_gather(all_indices, index)
        if dist.get_rank() == 0:
            table.index_copy_(0, torch.cat(all_indices), torch.cat(all_features))
    return table


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(160, 12, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, torch.arange(160))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        held_out = DataLoader(dataset, batch_size=20, sampler=DistributedSampler(dataset, shuffle=False))
        model = DDP(nn.Linear(12, 4).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, _ in loader:
                optimizer.zero_grad()
                model(inputs.to(device)).square().mean().backward()
                optimizer.step()
        table = features_of(model, held_out, device)
        if dist.get_rank() == 0:
            print(f"{table.shape}: {table.mean().item():.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
