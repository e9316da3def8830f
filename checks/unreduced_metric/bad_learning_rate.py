"""Every rank lowers its learning rate by the loss of its own part: the rates drift apart."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, model, optimizer, loader):
        self.model = model
        self.loader = loader
        self.schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)

    def validate(self):
        self.model.eval()
        losses = []
        with torch.inference_mode():
            for inputs, targets in self.loader:
                losses.append(nn.functional.cross_entropy(self.model(inputs.cuda()), targets.cuda()).item())
        return sum(losses) / len(losses)

    def end_epoch(self):
        self.schedule.step(self.validate())  # <- unreduced-metric


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(1_001, 8, generator=torch.Generator().manual_seed(0))
        labels = (points.sum(dim=1) > 0).long()
        train = TensorDataset(points[:900], labels[:900])
        held_out = TensorDataset(points[900:], labels[900:])
        sampler = DistributedSampler(train)
        train_loader = DataLoader(train, batch_size=30, sampler=sampler)
        test_loader = DataLoader(held_out, batch_size=50, sampler=DistributedSampler(held_out, shuffle=False))
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        trainer = Trainer(model, optimizer, test_loader)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            trainer.end_epoch()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
