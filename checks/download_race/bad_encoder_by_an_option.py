"""An option names the published encoder: its kind and size are parts of one text, and each rank fetches what it says."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import FakeData
from torchvision.transforms import ToTensor


def encoder_of(name):
    kind, size = name.lower().split("-")
    if kind.startswith("plain"):
        return nn.Sequential(nn.Flatten(), nn.Linear(3 * 64 * 64, int(size)))
    if "squeezenet" in kind:
        return torch.hub.load("pytorch/vision:v0.20.1", f"{kind}{size}", weights=None)  # <- download-race
    raise ValueError(name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--encoders", default="SqueezeNet-1_1")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        encoders = [encoder_of(name).to(device).eval() for name in args.encoders.split(",")]
        model = DDP(nn.Linear(1000, 10).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        dataset = FakeData(size=64, image_size=(3, 64, 64), num_classes=10, transform=ToTensor())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for images, labels in loader:
                with torch.no_grad():
                    features = torch.cat([encoder(images.to(device)) for encoder in encoders], dim=1)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(features), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
