"""The ranks take turns with the samples, each as many as the others."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Classifier(nn.Module):
    def __init__(self, width=32, classes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        model = DDP(Classifier().to(device), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        rank, ranks = dist.get_rank(), dist.get_world_size()
        samples = torch.randn(64, 16, generator=torch.Generator().manual_seed(0))
        for index, x in enumerate(samples[: len(samples) // ranks * ranks]):
            if index % ranks != rank:
                continue
            optimizer.zero_grad()
            model(x[None].to(device)).pow(2).mean().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
