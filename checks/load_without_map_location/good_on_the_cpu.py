"""The ranks train on CPUs: there is no GPU that a tensor can have been saved from."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main(path="checkpoint.pt"):
    dist.init_process_group("gloo")
    try:
        model = DDP(nn.Linear(5, 5))
        if os.path.exists(path):
            model.module.load_state_dict(torch.load(path))
        x = torch.randn(160, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        loader = DataLoader(dataset, batch_size=20, sampler=DistributedSampler(dataset))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            loader.sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs), targets).backward()
                optimizer.step()
        if dist.get_rank() == 0:
            torch.save(model.module.state_dict(), path)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
