"""A channels_last model: its convolution weights are not row-major on purpose, in the layout that the kernels want."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        network = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 24, 3), nn.Flatten(), nn.Linear(3456, 4))
        network = network.to(device, memory_format=torch.channels_last)
        model = DDP(network, device_ids=[device.index])
        images = torch.rand(64, 3, 16, 16, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, torch.arange(64) % 4)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
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
