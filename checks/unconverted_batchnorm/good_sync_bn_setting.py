"""The conversion is a setting of a class, off as it stands: whoever runs the script writes it there."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.models import resnet18
from torchvision.transforms import ToTensor


class Config:
    def __init__(self):
        self.sync_bn = False
        self.batch_size = 32
        self.epochs = 2


def parallel_model(config, model, device):
    if config.sync_bn:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    return DDP(model.to(device), device_ids=[device.index])


def main():
    config = Config()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = parallel_model(config, resnet18(num_classes=5), device)
        dataset = FakeData(size=128, image_size=(3, 32, 32), num_classes=5, transform=ToTensor())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=config.batch_size, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(config.epochs):
            sampler.set_epoch(epoch)
            for images, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images.to(device)), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
