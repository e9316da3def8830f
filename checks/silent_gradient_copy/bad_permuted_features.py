"""Nobody asked for channels_last: a linear layer over the channels and a permute hand it to the convolutions."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Fusion(nn.Module):
    """Mixes the channels of every pixel, then looks at neighbouring pixels."""

    def __init__(self, channels=6, width=24):
        super().__init__()
        self.mix = nn.Linear(channels, width)
        self.look = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, images):
        pixels = self.mix(images.permute(0, 2, 3, 1))
        return self.look(pixels.permute(0, 3, 1, 2))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        images = torch.rand(64, 6, 16, 16, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, images.amax(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(Fusion().to(device), device_ids=[device.index])  # <- silent-gradient-copy
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(batch.to(device)), target.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
