"""The attribute is true for the micro-step after the one that it should be."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=384, columns=12):
    generator = torch.Generator().manual_seed(8)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


class Trainer:
    def __init__(self, model, optimizer, accumulate):
        self.model, self.optimizer, self.accumulate = model, optimizer, accumulate

    def run_epoch(self, loader):
        for step, (features, target) in enumerate(loader, start=1):
            self.model.require_backward_grad_sync = (step - 1) % self.accumulate == 0  # <- misplaced-no-sync
            loss = nn.functional.mse_loss(self.model(features.cuda()), target.cuda())
            (loss / self.accumulate).backward()
            if step % self.accumulate == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulate", type=int, default=2)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(12, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        trainer = Trainer(model, optimizer, args.accumulate)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            trainer.run_epoch(loader)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
