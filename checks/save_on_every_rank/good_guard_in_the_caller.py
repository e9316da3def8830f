"""The guard stands in the caller of the caller, as a variable, joined with another condition."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def write(state, path):
    torch.save(state, path)


class Trainer:
    def __init__(self, device, save_every=1):
        self.device = device
        self.master_process = dist.get_rank() == 0
        self.save_every = save_every
        x = torch.randn(128, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.abs())
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=16, sampler=self.sampler)
        self.model = DDP(nn.Linear(6, 6).to(device), device_ids=[device.index])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def save(self, epoch):
        write({"model": self.model.module.state_dict(), "epoch": epoch}, "trainer.pt")

    def run_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        for inputs, targets in self.loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(inputs.to(self.device)), targets.to(self.device)).backward()
            self.optimizer.step()

    def fit(self, epochs):
        for epoch in range(epochs):
            self.run_epoch(epoch)
            if self.master_process and epoch % self.save_every == 0:
                self.save(epoch)


if __name__ == "__main__":
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        Trainer(device).fit(epochs=2)
    finally:
        dist.destroy_process_group()
