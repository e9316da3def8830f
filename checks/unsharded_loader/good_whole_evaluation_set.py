"""The evaluation loader has no sampler on purpose: every rank evaluates all of it, or rank 0 alone does."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split


def evaluate(network, loader, device):
    network.eval()
    with torch.inference_mode():
        errors = [nn.functional.l1_loss(network(x.to(device)), y.to(device), reduction="sum") for x, y in loader]
    network.train()
    return torch.stack(errors).sum().item() / len(loader.dataset)


class Trainer:
    def __init__(self, device):
        x = torch.rand(360, 3, generator=torch.Generator().manual_seed(0))
        whole = TensorDataset(x, x.max(dim=1, keepdim=True).values)
        train, val = random_split(whole, [320, 40], generator=torch.Generator().manual_seed(0))
        self.device = device
        self.train_loader = DataLoader(train, batch_size=32, sampler=DistributedSampler(train))
        self.val_loader = DataLoader(val, batch_size=20)
        network = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
        self.model = DDP(network, device_ids=[device.index])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def train_epoch(self, epoch):
        self.train_loader.sampler.set_epoch(epoch)
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            nn.functional.l1_loss(self.model(x.to(self.device)), y.to(self.device)).backward()
            self.optimizer.step()

    def run(self, epochs):
        for epoch in range(epochs):
            self.train_epoch(epoch)
            error = evaluate(self.model.module, self.val_loader, self.device)
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: {error:.4f}")


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        Trainer(device).run(epochs=2)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
