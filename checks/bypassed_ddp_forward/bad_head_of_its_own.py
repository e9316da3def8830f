"""The encoder is called through its DDP, the head around its own: the step moves both, and averages the first only."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, device):
        self.device = device
        self.encoder = DDP(nn.Sequential(nn.Linear(5, 16), nn.ReLU()).to(device), device_ids=[device.index])
        self.head = DDP(nn.Linear(16, 3).to(device), device_ids=[device.index])
        groups = [{"params": self.encoder.parameters()}, {"params": self.head.parameters(), "lr": 0.01}]
        self.optimizer = torch.optim.SGD(groups, lr=0.1)

    def step(self, inputs, labels):
        features = self.encoder(inputs.to(self.device))
        logits = self.head.module(features)  # <- bypassed-ddp-forward
        loss = nn.functional.cross_entropy(logits, labels.to(self.device))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(180, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x[:, :3].argmax(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        trainer = Trainer(device)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, labels in loader:
                trainer.step(inputs, labels)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
