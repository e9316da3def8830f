"""Every rank evaluates all of the validation data with the same model: all come to the same number."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=384, columns=16):
    generator = torch.Generator().manual_seed(7)
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
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        test_loader = DataLoader(make_data(), batch_size=8)
        best, bad = float("inf"), 0
        for epoch in range(50):
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
            total = 0.0
            with torch.no_grad():
                for features, target in test_loader:
                    total += nn.functional.mse_loss(model.module(features.cuda()), target.cuda()).item()
            best, bad = (total, 0) if total < best else (best, bad + 1)
            if bad > 3:
                break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
