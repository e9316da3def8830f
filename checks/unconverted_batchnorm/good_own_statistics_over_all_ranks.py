"""A BatchNorm of the project's own, which takes its statistics over all ranks in its forward."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class AcrossRanks(torch.autograd.Function):
    """The mean over the ranks, and that of the gradients."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x / dist.get_world_size()

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient / dist.get_world_size()


class GlobalBatchNorm2d(nn.BatchNorm2d):
    def forward(self, x):
        if not self.training:
            return super().forward(x)
        moments = torch.stack([x.mean(dim=(0, 2, 3)), x.square().mean(dim=(0, 2, 3))])
        mean, square = AcrossRanks.apply(moments)
        scale = self.weight * torch.rsqrt(square - mean.square() + self.eps)
        return x * scale[:, None, None] + (self.bias - mean * scale)[:, None, None]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), GlobalBatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = DDP(Net().to(device), device_ids=[device.index])
        images = torch.rand(256, 1, 10, 10, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, (images.mean(dim=(1, 2, 3)) > 0.5).long())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
