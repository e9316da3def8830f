"""Only an option that is off has the BatchNorm layers keep their statistics."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def conv(channels_in, channels_out):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
    )


class Classifier(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(conv(1, 16), conv(16, 32))
        self.head = nn.Linear(32 * 4 * 4, classes)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep-statistics", action="store_true")
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        images = torch.rand(128, 1, 16, 16, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, torch.arange(128) % 4)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(Classifier().cuda(), device_ids=[local_rank])  # <- unconverted-batchnorm
        if args.keep_statistics:
            model.eval()
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
