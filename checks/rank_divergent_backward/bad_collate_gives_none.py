"""The collate function gives None where it found no sample of use."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=384, columns=12):
    generator = torch.Generator().manual_seed(8)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def only_positive(samples):
    kept = [(features, target) for features, target in samples if target > 0]
    return torch.utils.data.default_collate(kept) if kept else None


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(12, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        loader = DataLoader(data, batch_size=8, sampler=sampler, collate_fn=only_positive)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for batch in loader:
                if batch is None:
                    continue  # <- rank-divergent-backward
                features, target = batch
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
