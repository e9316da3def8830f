"""The settings say one micro-step; with more, the ones between are not averaged."""

import os
from contextlib import nullcontext
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=384, columns=12):
    generator = torch.Generator().manual_seed(8)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


@dataclass
class Settings:
    grad_accum: int = 1
    clip: float = 1.0


class Trainer:
    def __init__(self, model, optimizer, settings):
        self.model, self.optimizer, self.settings = model, optimizer, settings
        self.micro_step = 0
        self.scaler = torch.amp.GradScaler("cuda")

    def update(self):
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()

    def run_epoch(self, loader):
        for features, target in loader:
            self.micro_step += 1
            between = self.settings.grad_accum > 1 and self.micro_step % self.settings.grad_accum
            with self.model.no_sync() if between else nullcontext():
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = nn.functional.mse_loss(self.model(features.cuda()), target.cuda())
                self.scaler.scale(loss / self.settings.grad_accum).backward()
            if self.micro_step % self.settings.grad_accum == 0:
                self.update()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(12, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        trainer = Trainer(model, optimizer, Settings())
        for epoch in range(3):
            sampler.set_epoch(epoch)
            trainer.run_epoch(loader)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
