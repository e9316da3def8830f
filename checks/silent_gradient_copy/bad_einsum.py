"""Attention whose projections are einsums over [head, width, key]: the gradients come out as [width, head, key]."""

import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Attention(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        key = width // heads
        self.query = nn.Parameter(torch.randn(heads, width, key) / width**0.5)
        self.key = nn.Parameter(torch.randn(heads, width, key) / width**0.5)
        self.value = nn.Parameter(torch.randn(heads, width, key) / width**0.5)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        query = torch.einsum("btd,hdk->bhtk", x, self.query)
        key = torch.einsum("btd,hdk->bhtk", x, self.key)
        value = torch.einsum("btd,hdk->bhtk", x, self.value)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Trainer:
    def __init__(self, device):
        self.device = device
        network = nn.Sequential(nn.Embedding(24, 32), Attention(), nn.Linear(32, 24)).to(device)
        self.model = DistributedDataParallel(network, device_ids=[device.index])  # <- silent-gradient-copy
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        tokens = torch.randint(24, (128, 10), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(tokens, tokens.flip(1))
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=16, sampler=self.sampler)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for tokens, backwards in self.loader:
                scores = self.model(tokens.to(self.device))
                loss = nn.functional.cross_entropy(scores.flatten(0, 1), backwards.to(self.device).flatten())
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


if __name__ == "__main__":
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    distributed.init_process_group("nccl", device_id=device)
    try:
        Trainer(device).fit(epochs=2)
    finally:
        distributed.destroy_process_group()
