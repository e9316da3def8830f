"""Student and projections are each in a DDP; the loss unwraps the projections to take one by its name."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Student(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x):
        hidden = []
        for layer in self.layers:
            x = layer(x).relu()
            hidden.append(x)
        return hidden


def distance(hidden, wanted, projections):
    if isinstance(projections, DDP):
        projections = projections.module
    total = 0.0
    for i in range(len(hidden)):
        projected = projections[str(i)](wanted[i])  # <- bypassed-ddp-forward
        total += nn.functional.mse_loss(hidden[i], projected)
    return total / len(hidden)


def train(students, projections, loader, sampler, optimizer, device):
    for name, student in students.items():
        students[name] = DDP(student.to(device), device_ids=[device.index])
    for name, layers in projections.items():
        projections[name] = DDP(layers.to(device), device_ids=[device.index])
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for inputs, first, second in loader:
            loss = 0.0
            for name, student in students.items():
                hidden = student(inputs.to(device))
                loss = loss + distance(hidden, [first.to(device), second.to(device)], projections[f"to_{name}"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        generator = torch.Generator().manual_seed(0)
        dataset = TensorDataset(*(torch.randn(160, width, generator=generator) for width in (6, 9, 9)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        students = {"small": Student(6, 2).to(device)}
        projections = {"to_small": nn.ModuleDict({str(i): nn.Linear(9, 6).to(device) for i in [0, 1]})}
        parameters = list(students["small"].parameters()) + list(projections["to_small"].parameters())
        train(students, projections, loader, sampler, torch.optim.Adam(parameters), device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
