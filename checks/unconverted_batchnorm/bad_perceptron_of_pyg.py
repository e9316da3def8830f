"""PyG's perceptron has a BatchNorm1d after each hidden layer, asked for or not; its convolutions where they are told."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from torch_geometric.nn import GCN, GIN, MLP


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.layers = GIN(8, width, num_layers=3, jk="cat")
        self.smoothed = GCN(width, width, num_layers=2, norm="BatchNorm")
        self.classifier = MLP([width, width, 4], dropout=0.5)

    def forward(self, x, edges):
        return self.classifier(self.smoothed(self.layers(x, edges), edges))


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    try:
        edges = torch.randint(64, (2, 256), generator=torch.Generator().manual_seed(0)).cuda()
        dataset = TensorDataset(torch.rand(640, 64, 8, generator=torch.Generator().manual_seed(0)), torch.zeros(640, 64).long())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=1, sampler=sampler)
        model = DistributedDataParallel(Net().cuda(), device_ids=[rank])  # <- unconverted-batchnorm
        optimizer = torch.optim.Adam(model.parameters())
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x[0].cuda(), edges), y[0].cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
