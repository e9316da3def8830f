"""A detector's backbone: its BatchNorm layers are in eval mode with frozen weights through all of the training."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class FrozenBatchNorm2d(nn.Module):
    """BatchNorm with fixed statistics and affine values: buffers, nothing that trains."""

    def __init__(self, channels):
        super().__init__()
        self.register_buffer("scale", torch.ones(channels))
        self.register_buffer("shift", torch.zeros(channels))

    def forward(self, x):
        return x * self.scale.view(1, -1, 1, 1) + self.shift.view(1, -1, 1, 1)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), FrozenBatchNorm2d(8), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16))
        self.head = nn.Linear(16, 4)
        for parameter in self.body.parameters():
            parameter.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.body.eval()
        return self

    def forward(self, images):
        return self.head(self.body(self.stem(images)).amax(dim=(2, 3)))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        images = torch.rand(64, 1, 12, 12, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, images.flatten(1)[:, :4])
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=4, sampler=sampler)
        model = DDP(Detector().to(device), device_ids=[device.index])
        model.train()
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch, boxes in loader:
                optimizer.zero_grad()
                nn.functional.l1_loss(model(batch.to(device)), boxes.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
