"""A Trainer wraps in its constructor and converts when the training starts."""

import argparse
import os

import torch
from torch import distributed, nn
from torch.nn import SyncBatchNorm
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, args, network):
        self.args = args
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        self.model = DistributedDataParallel(network.to(self.device), device_ids=[self.device.index])
        x = torch.randn(192, 10, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.max(dim=1, keepdim=True).values)
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=24, sampler=self.sampler)

    def prepare(self):
        self.model = SyncBatchNorm.convert_sync_batchnorm(self.model)  # <- sync-batchnorm-after-ddp
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.args.lr)

    def fit(self):
        self.prepare()
        for epoch in range(self.args.epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.model(x.to(self.device)), y.to(self.device)).backward()
                self.optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl")
    try:
        network = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
        Trainer(args, network).fit()
    finally:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
