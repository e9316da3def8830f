"""Each process is left one visible GPU only, so "cuda" is its own."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]


def main():
    dist.init_process_group("nccl")
    try:
        device = torch.device("cuda")
        x = torch.randn(240, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.clamp(min=0))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        model = DDP(nn.Linear(3, 3).to(device))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
