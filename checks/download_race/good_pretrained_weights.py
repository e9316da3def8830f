"""Every rank asks for published weights: torch.hub fetches them under another name and renames, so nothing is torn."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.models import squeezenet1_1
from torchvision.transforms import ToTensor

WEIGHTS = "https://download.pytorch.org/models/squeezenet1_1-b8a52dc0.pth"


def classifier(classes):
    network = squeezenet1_1()
    network.load_state_dict(torch.hub.load_state_dict_from_url(WEIGHTS, map_location="cpu"))
    network.requires_grad_(False)
    network.classifier = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))
    return network


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = FakeData(size=64, image_size=(3, 64, 64), num_classes=5, transform=ToTensor())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(classifier(5).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.module.classifier.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for images, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images.to(device)), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
