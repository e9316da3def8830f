"""A Trainer that passes the loader's arguments by position: the third one is shuffle."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
import torch.utils.data as data
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@contextmanager
def distributed_run():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        yield device
    finally:
        dist.destroy_process_group()


class Trainer:
    def __init__(self, device, dataset, batch_size=25):
        self.device = device
        self.sampler = data.DistributedSampler(dataset, seed=3)
        self.loader = data.DataLoader(dataset, batch_size, True, self.sampler)  # <- shuffle-with-sampler
        self.model = DistributedDataParallel(self.build().to(device), device_ids=[device.index])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    @staticmethod
    def build():
        return nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.optimizer.zero_grad()
                nn.functional.cross_entropy(self.model(x.to(self.device)), y.to(self.device)).backward()
                self.optimizer.step()


if __name__ == "__main__":
    points = torch.randn(300, 6, generator=torch.Generator().manual_seed(0))
    with distributed_run() as device:
        Trainer(device, data.TensorDataset(points, points[:, :3].argmax(dim=1))).fit(epochs=2)
