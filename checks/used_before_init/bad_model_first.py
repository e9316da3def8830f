"""The trainer wraps its model when it is made, and makes its group when it starts."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, network, local_rank):
        self.local_rank = local_rank
        torch.cuda.set_device(local_rank)
        self.model = DDP(network.to(local_rank), device_ids=[local_rank])  # <- used-before-init
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def fit(self, dataset):
        dist.init_process_group("nccl")
        try:
            sampler = DistributedSampler(dataset)
            loader = DataLoader(dataset, batch_size=8, sampler=sampler)
            for epoch in range(2):
                sampler.set_epoch(epoch)
                for inputs, targets in loader:
                    self.optimizer.zero_grad()
                    outputs = self.model(inputs.to(self.local_rank))
                    nn.functional.mse_loss(outputs, targets.to(self.local_rank)).backward()
                    self.optimizer.step()
        finally:
            dist.destroy_process_group()


def main():
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.cumsum(dim=1))
    Trainer(nn.Linear(6, 6), int(os.environ["LOCAL_RANK"])).fit(dataset)


if __name__ == "__main__":
    main()
