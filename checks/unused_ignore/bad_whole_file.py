"""A whole file is excused from a check that finds nothing in it."""

# ddpdoctor: ignore-file[shuffle-with-sampler]  # <- unused-ignore

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, device):
        self.device = device
        x = torch.randn(96, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.abs())
        self.loader = DataLoader(dataset, batch_size=12, sampler=DistributedSampler(dataset))
        self.model = DDP(nn.Linear(3, 3).to(device), device_ids=[device.index])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.loader.sampler.set_epoch(epoch)
            for inputs, targets in self.loader:
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.model(inputs.to(self.device)), targets.to(self.device)).backward()
                self.optimizer.step()


if __name__ == "__main__":
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        Trainer(device).fit(epochs=2)
    finally:
        dist.destroy_process_group()
