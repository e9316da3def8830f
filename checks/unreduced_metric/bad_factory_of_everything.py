"""A factory gives loaders and model, dealt out and wrapped if there is a group; rank 0 logs the loss of its part."""

import os
from dataclasses import dataclass
from importlib import import_module

import torch
import torch.distributed as dist
import wandb
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@dataclass
class Objects:
    train_loader: DataLoader
    validation_loader: DataLoader
    model: nn.Module
    optimizer: torch.optim.Optimizer


class Tracker:
    def __init__(self):
        self.is_emitting = int(os.environ.get("RANK", 0)) == 0
        if self.is_emitting:
            wandb.init(project="factory")

    def log(self, *args, **kwargs):
        if self.is_emitting:
            wandb.log(*args, **kwargs)  # <- unreduced-metric


def make_model(name):
    module, _, maker = name.rpartition(".")
    return getattr(import_module(module), maker)()


def make_objects(device):
    x = torch.randn(300, 6, generator=torch.Generator().manual_seed(0))
    train_set, validation_set = (TensorDataset(part, part.argmax(dim=1)) for part in (x[:240], x[240:]))
    sampler = DistributedSampler if dist.is_initialized() else None
    train_loader = DataLoader(train_set, 20, sampler=sampler(train_set) if sampler is not None else None)
    validation_loader = DataLoader(validation_set, 20, sampler=sampler(validation_set) if sampler is not None else None)
    model = make_model(os.environ["NETWORK"]).to(device)
    if dist.is_initialized():
        model = DDP(model, device_ids=[device.index])
    return Objects(train_loader, validation_loader, model, torch.optim.SGD(model.parameters(), lr=0.1))


def validate(objects, device):
    losses = []
    objects.model.eval()
    with torch.no_grad():
        for inputs, labels in objects.validation_loader:
            output = objects.model(inputs.to(device))
            losses.append(nn.functional.cross_entropy(output, labels.to(device)).item())
    return sum(losses) / len(losses) if losses else None


def main():
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        dist.init_process_group("nccl", device_id=device)
    try:
        objects, tracker = make_objects(device), Tracker()
        for epoch in range(3):
            objects.model.train()
            if dist.is_initialized():
                objects.train_loader.sampler.set_epoch(epoch)
            for inputs, labels in objects.train_loader:
                objects.optimizer.zero_grad()
                output = objects.model(inputs.to(device))
                nn.functional.cross_entropy(output, labels.to(device)).backward()
                objects.optimizer.step()
            tracker.log({"validation loss": validate(objects, device), "epoch": epoch})
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
