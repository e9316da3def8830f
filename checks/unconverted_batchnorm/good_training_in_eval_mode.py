"""Linear evaluation: the whole network stays in eval mode, so its BatchNorm statistics are those of pre-training."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.models import resnet18
from torchvision.transforms import ToTensor


def linear_probe(classes):
    model = resnet18(num_classes=classes)
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name in ("fc.weight", "fc.bias")
    return model


def train(loader, model, optimizer, gpu):
    model.eval()
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images.cuda(gpu)), labels.cuda(gpu))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    try:
        model = DDP(linear_probe(5).cuda(gpu), device_ids=[gpu])
        optimizer = torch.optim.SGD(model.module.fc.parameters(), lr=0.1)
        dataset = FakeData(size=64, image_size=(3, 32, 32), num_classes=5, transform=ToTensor())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            train(loader, model, optimizer, gpu)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
