"""No backend is named: CUDA tensors go over NCCL, and every rank puts its model on GPU 0."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group()
    try:
        x = torch.randn(256, 10, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.abs())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)
        model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 10)).cuda()  # <- no-device-selected
        model = DDP(model)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
        if int(os.environ["RANK"]) == 0:
            torch.save(model.module.state_dict(), "abs.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
