"""A trainer whose step clips in a method of its own, and unscales after it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=384, columns=16):
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


class Trainer:
    def __init__(self, model, optimizer, clip=None):
        self.model, self.optimizer, self.clip = model, optimizer, clip
        self.scaler = torch.cuda.amp.GradScaler(enabled=True)

    def clip_gradients(self):
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)  # <- clip-before-unscale

    def step(self, batch):
        features, target = (part.cuda(non_blocking=True) for part in batch)
        self.optimizer.zero_grad()
        with torch.cuda.amp.autocast():
            loss = nn.functional.l1_loss(self.model(features), target)
        self.scaler.scale(loss).backward()
        self.clip_gradients()
        self.scaler.unscale_(self.optimizer)
        self.scaler.step(self.optimizer)
        self.scaler.update()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        trainer = Trainer(model, optimizer, clip=0.5)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for batch in loader:
                trainer.step(batch)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
