"""channels_last batches for a model whose weights are not: cuDNN and oneDNN answer with channels_last gradients."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def conv(channels_in, channels_out):
    layer = nn.Conv2d(channels_in, channels_out, 3, stride=2, padding=1)
    return nn.Sequential(layer, nn.GroupNorm(4, channels_out), nn.ReLU())


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        images = torch.rand(96, 3, 32, 32, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, torch.arange(96) % 5)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        network = nn.Sequential(conv(3, 32), conv(32, 64), conv(64, 64), nn.Flatten(), nn.Linear(1024, 5))
        model = DDP(network.to(device), device_ids=[device.index])  # <- silent-gradient-copy
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for batch, labels in loader:
                batch = batch.to(device, memory_format=torch.channels_last)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(batch), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
