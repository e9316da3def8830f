"""The saving method returns early on every rank but the first, so only the first comes to the barrier at its end."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, device):
        self.device = device
        self.rank = dist.get_rank()
        x = torch.rand(144, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.max(dim=1, keepdim=True).values)
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=18, sampler=self.sampler)
        self.model = DDP(nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1)).to(device))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def save(self, path):
        if self.rank != 0:
            return
        torch.save(self.model.module.state_dict(), path)
        dist.barrier()  # <- rank-conditional-collective

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for inputs, targets in self.loader:
                self.optimizer.zero_grad()
                nn.functional.l1_loss(self.model(inputs.to(self.device)), targets.to(self.device)).backward()
                self.optimizer.step()
            self.save("model.pt")


if __name__ == "__main__":
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        Trainer(device).fit(epochs=2)
    finally:
        dist.destroy_process_group()
