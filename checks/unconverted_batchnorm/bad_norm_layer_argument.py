"""The layer's type is an argument of the network, and the argument is BatchNorm1d; the Trainer wraps what it gets."""

import os

import torch
from torch import distributed, nn
from torch.nn import BatchNorm1d as Norm
from torch.nn.parallel import DistributedDataParallel
from torch.utils import data


class Projector(nn.Module):
    def __init__(self, sizes, norm_layer):
        super().__init__()
        layers = []
        for before, after in zip(sizes, sizes[1:]):
            layers += [nn.Linear(before, after, bias=False), norm_layer(after), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x):
        return self.layers(x)


class Trainer:
    def __init__(self, network, dataset, gpu):
        self.gpu = gpu
        self.network = network.cuda(gpu)
        self.model = DistributedDataParallel(self.network, device_ids=[gpu])  # <- unconverted-batchnorm
        self.sampler = data.DistributedSampler(dataset)
        self.loader = data.DataLoader(dataset, batch_size=32, sampler=self.sampler, drop_last=True)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def step(self, batch):
        noisy = batch + 0.1 * torch.randn_like(batch)
        first, second = self.model(torch.cat([batch, noisy])).chunk(2)
        loss = -nn.functional.cosine_similarity(first, second).mean() + first.std(dim=0).sub(1).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for (batch,) in self.loader:
                self.step(batch.cuda(self.gpu))


if __name__ == "__main__":
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    distributed.init_process_group("nccl")
    try:
        samples = torch.randn(256, 20, generator=torch.Generator().manual_seed(0))
        Trainer(Projector([20, 64, 64, 16], Norm), data.TensorDataset(samples), gpu).fit(epochs=2)
    finally:
        distributed.destroy_process_group()
