"""Of two networks that a name chooses from only one is converted; the other goes into DDP as it is."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class BatchStatistics(nn.modules.batchnorm._BatchNorm):
    """A BatchNorm that always takes the statistics of the batch."""

    def _check_input_dim(self, images):
        if images.dim() != 4:
            raise ValueError("images are expected")

    def forward(self, images):
        self._check_input_dim(images)
        return nn.functional.batch_norm(images, None, None, self.weight, self.bias, True, self.momentum, self.eps)


def deep():
    layers = [nn.Conv2d(1, 16, 3, stride=4, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(256, 4)]
    return nn.Sequential(*layers)


def plain():
    return nn.Sequential(nn.Conv2d(1, 8, 3, stride=4, padding=1), BatchStatistics(8), nn.Flatten(), nn.Linear(128, 4))


def build(name, local_rank):
    if name == "deep":
        model = nn.SyncBatchNorm.convert_sync_batchnorm(deep())
    else:
        model = plain()
    return DDP(model.cuda(), device_ids=[local_rank])  # <- unconverted-batchnorm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="plain", choices=["plain", "deep"])
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        images = torch.rand(128, 1, 16, 16, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, torch.arange(128) % 4)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = build(args.model, local_rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(batch.cuda()), labels.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
