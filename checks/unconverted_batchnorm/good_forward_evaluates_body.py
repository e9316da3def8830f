"""The part of the model that has BatchNorm layers trains in evaluation mode: the forward itself puts it there."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8 * 36, 10)

    def forward(self, images):
        self.body.eval()
        return self.head(self.body(images).flatten(1))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        model = DistributedDataParallel(Classifier().cuda(local_rank), device_ids=[local_rank])
        generator = torch.Generator().manual_seed(0)
        images = torch.randn(96, 3, 8, 8, generator=generator)
        data = TensorDataset(images, images.mean((1, 2, 3)).mul(10).long().clamp(0, 9))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, labels in loader:
                loss = nn.functional.cross_entropy(model(inputs.cuda(local_rank)), labels.cuda(local_rank))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
