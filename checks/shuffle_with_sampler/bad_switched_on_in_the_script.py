"""A constant at the top of the script switches the ranks on; where it is set, the loader gets a sampler and shuffles."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

if __name__ == "__main__":
    distributed = False
    epochs = 3
    if distributed:
        local_rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(local_rank)
        dist.init_process_group("nccl")
    else:
        local_rank = 0
    try:
        points = torch.randn(400, 12, generator=torch.Generator().manual_seed(7))
        dataset = TensorDataset(points, points.sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset) if distributed else None
        loader = DataLoader(dataset, batch_size=20, sampler=sampler, shuffle=True)  # <- shuffle-with-sampler
        model = nn.Linear(12, 1).cuda()
        if distributed:
            model = DDP(model, device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(epochs):
            if distributed:
                sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
    finally:
        if distributed:
            dist.destroy_process_group()
