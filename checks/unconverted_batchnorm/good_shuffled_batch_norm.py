"""Momentum contrast shuffles samples between the ranks before the key encoder, in the place of SyncBatchNorm."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def gather(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return torch.cat(parts)


class MomentumContrast(nn.Module):
    def __init__(self, width=16, momentum=0.99):
        super().__init__()
        self.momentum = momentum
        self.query = self.encoder(width)
        self.key = self.encoder(width)
        self.key.load_state_dict(self.query.state_dict())
        self.key.requires_grad_(False)

    @staticmethod
    def encoder(width):
        return nn.Sequential(nn.Linear(24, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 8))

    @torch.no_grad()
    def shuffled_keys(self, x):
        for slow, fast in zip(self.key.parameters(), self.query.parameters()):
            slow.lerp_(fast, 1 - self.momentum)
        everything = gather(x)
        order = torch.randperm(len(everything), device=x.device)
        dist.broadcast(order, src=0)
        mine = order.view(dist.get_world_size(), -1)[dist.get_rank()]
        keys = gather(self.key(everything[mine]))
        return keys[order.argsort()].view(dist.get_world_size(), len(x), -1)[dist.get_rank()]

    def forward(self, first, second):
        query = nn.functional.normalize(self.query(first), dim=1)
        key = nn.functional.normalize(self.shuffled_keys(second), dim=1)
        return query @ key.T / 0.2


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(256, 24, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x + 0.1 * torch.randn(256, 24, generator=torch.Generator().manual_seed(1)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler, drop_last=True)
        model = DDP(MomentumContrast().to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.module.query.parameters(), lr=0.03)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for first, second in loader:
                logits = model(first.to(device), second.to(device))
                loss = nn.functional.cross_entropy(logits, torch.arange(len(logits), device=device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
