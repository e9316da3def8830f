"""Every rank fetches the code of a hub model; torch.hub unpacks it into one folder for all of them."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.transforms import ToTensor


class Trainer:
    def __init__(self, device):
        self.device = device
        network = torch.hub.load("pytorch/vision:v0.20.1", "squeezenet1_1", weights=None)  # <- download-race
        self.model = DDP(network.to(device), device_ids=[device.index])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        dataset = FakeData(size=64, image_size=(3, 64, 64), num_classes=1000, transform=ToTensor())
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=16, sampler=self.sampler)

    def train(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for images, labels in self.loader:
                self.optimizer.zero_grad()
                nn.functional.cross_entropy(self.model(images.to(self.device)), labels.to(self.device)).backward()
                self.optimizer.step()


if __name__ == "__main__":
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        Trainer(device).train(epochs=2)
    finally:
        dist.destroy_process_group()
