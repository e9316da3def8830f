"""The kind of network goes by the type of an argument; a number of layers makes one without BatchNorm."""

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
    def __init__(self, layers, classes=4):
        super().__init__()
        if isinstance(layers, (tuple, list)):
            self.features = nn.Sequential(*(conv(width, 2 * width) for width in layers), nn.Flatten())
            self.head = nn.LazyLinear(classes)
        else:
            hidden = [nn.Sequential(nn.Linear(256, 256), nn.LayerNorm(256)) for _ in range(layers)]
            self.features = nn.Sequential(nn.Flatten(), *hidden)
            self.head = nn.Linear(256, classes)

    def forward(self, images):
        return self.head(self.features(images))


def build(state):
    found = [name for name in state if name.startswith("features.") and name.endswith(".weight")]
    return Classifier(len(found) - 1)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        images = torch.rand(128, 1, 16, 16, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, torch.arange(128) % 4)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(build([f"features.{i}.weight" for i in range(int(os.environ.get("LAYERS", "3")))]).cuda(), device_ids=[local_rank])
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
