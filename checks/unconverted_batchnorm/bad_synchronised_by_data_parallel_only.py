"""A BatchNorm of the project's own that its replicas share under DataParallel: under DDP no replica is ever made."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class _SharedBatchNorm(_BatchNorm):
    """Takes its statistics from all replicas, once a DataParallel has told it of them."""

    def __init__(self, num_features):
        super().__init__(num_features)
        self.shared = None

    def __data_parallel_replicate__(self, shared, copy_id):
        self.shared = shared

    def forward(self, x):
        if self.shared is None or not self.training:
            return functional.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps
            )
        mean, variance = self.shared.statistics(x)
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight[:, None, None] + self.bias[:, None, None]


class SharedBatchNorm2d(_SharedBatchNorm):
    def _check_input_dim(self, x):
        if x.dim() != 4:
            raise ValueError(f"images wanted, not {x.dim()} dimensions")


Normalisation = SharedBatchNorm2d


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), Normalisation(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = DDP(Net().to(device), device_ids=[device.index])  # <- unconverted-batchnorm
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
