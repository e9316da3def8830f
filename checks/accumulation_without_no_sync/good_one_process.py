"""Without DDP there is nothing to average."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=24):
    generator = torch.Generator().manual_seed(9)
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
        plain = nn.Linear(24, 1).cuda()
        single = torch.optim.SGD(plain.parameters(), lr=0.1)
        sampler.set_epoch(0)
        for i, (features, target) in enumerate(loader):
            nn.functional.mse_loss(plain(features.cuda()), target.cuda()).backward()
            if i % 4 == 3:
                single.step()
                single.zero_grad()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
