"""The trainer's device is a parameter, and nobody passes it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, network, device="cuda:0"):
        self.device = device
        self.model = DDP(network.to(self.device), device_ids=[self.device])  # <- shared-device
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def step(self, inputs, targets):
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(inputs.to(self.device)), targets.to(self.device)).backward()
        self.optimizer.step()


def main():
    print(f"rank {os.environ['LOCAL_RANK']} of this node starts")
    dist.init_process_group("nccl")
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        trainer = Trainer(nn.Linear(6, 6))
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                trainer.step(inputs, targets)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
