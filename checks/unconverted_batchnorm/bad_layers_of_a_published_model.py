"""The body is a published network without its last layers, and another is kept by the names of its layers."""

import os

import torch
import torch.distributed as dist
import torchvision
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Embedding(nn.Module):
    def __init__(self, net, width=64):
        super().__init__()
        modules = list(net.children())[:-1]
        self.body = nn.Sequential(*modules)
        self.head = nn.Linear(512, width)

    def forward(self, images):
        return self.head(self.body(images).flatten(1))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = TensorDataset(torch.randn(128, 3, 64, 64), torch.randn(128, 64))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = Embedding(torchvision.models.resnet18()).to(local_rank)
        model = DDP(model, device_ids=[local_rank])  # <- unconverted-batchnorm
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for images, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(images.to(local_rank)), targets.to(local_rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
