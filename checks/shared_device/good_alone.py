"""Started without a launcher it has the first GPU, and with one its own."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    torch.cuda.set_device(0)
    device = torch.device("cuda:0")
    if distributed:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        dist.init_process_group("nccl")
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset) if distributed else None
        loader = DataLoader(dataset, batch_size=8, sampler=sampler, shuffle=sampler is None)
        model = nn.Linear(6, 6).to(device)
        if distributed:
            model = DDP(model, device_ids=[device])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            if sampler is not None:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
