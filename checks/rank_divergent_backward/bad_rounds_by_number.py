"""The first rank warms its data up: for its first rounds it has a forward, and no backward."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

WARM_UP = 2


def make_data(rows=352, columns=12):
    generator = torch.Generator().manual_seed(4)
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
        model = DDP(nn.Linear(12, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for i, (features, target) in enumerate(loader):
                loss = nn.functional.mse_loss(model(features.cuda()), target.cuda())
                optimizer.zero_grad()
                if dist.get_rank() > 0 or i > WARM_UP:
                    loss.backward()  # <- rank-divergent-backward
                    optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
