"""Started alone it makes no group and asks none."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(local_rank)
    if distributed:
        dist.init_process_group("nccl")
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset) if distributed else None
        loader = DataLoader(dataset, batch_size=8, sampler=sampler, shuffle=sampler is None)
        model = nn.Linear(6, 6).to(local_rank)
        if distributed:
            model = DDP(model, device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            if sampler is not None:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(local_rank)), targets.to(local_rank)).backward()
                optimizer.step()
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
