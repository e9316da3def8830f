"""A sampler subclass moves on to the next epoch by itself whenever it is iterated."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class AdvancingSampler(DistributedSampler):
    """A DistributedSampler whose order changes with every pass, without being told."""

    def __iter__(self):
        order = super().__iter__()
        self.set_epoch(self.epoch + 1)
        return order


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(224, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.square())
        loader = DataLoader(dataset, batch_size=16, sampler=AdvancingSampler(dataset))
        model = DDP(nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 3)).to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(3):
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
