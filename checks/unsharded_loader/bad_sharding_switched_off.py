"""The sampler is for runs with SHARD=1 only: nobody sets it, and every rank trains on all of the data."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SHARD = int(os.environ.get("SHARD", "0"))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset) if SHARD else None
        loader = DataLoader(dataset, 10, sampler=sampler, shuffle=sampler is None)  # <- unsharded-loader (run)
        model = DDP(nn.Linear(4, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            if sampler is not None:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
