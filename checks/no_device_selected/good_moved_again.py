"""The model is moved twice: onto the GPU that is current, and onto the rank's own once that is selected."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    distributed = "LOCAL_RANK" in os.environ
    if distributed:
        dist.init_process_group("nccl")
    try:
        dataset = TensorDataset(torch.randn(128, 9, generator=torch.Generator().manual_seed(0)))
        model = nn.Linear(9, 9)
        model.cuda()
        sampler = None
        if distributed:
            local_rank = int(os.environ["LOCAL_RANK"])
            torch.cuda.set_device(local_rank)
            model.cuda(local_rank)
            model = DDP(model, device_ids=[local_rank])
            sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler, shuffle=sampler is None)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            if sampler is not None:
                sampler.set_epoch(epoch)
            for (x,) in loader:
                x = x.cuda()
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), x).backward()
                optimizer.step()
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
