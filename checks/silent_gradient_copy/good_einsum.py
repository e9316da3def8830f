"""The same attention with its weights stored as [width, head, key], the order in which their gradients come out."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Attention(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        key = width // heads
        self.query = nn.Parameter(torch.randn(width, heads, key) / width**0.5)
        self.key = nn.Parameter(torch.randn(width, heads, key) / width**0.5)
        self.value = nn.Parameter(torch.randn(width, heads, key) / width**0.5)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        query = torch.einsum("btd,dhk->bhtk", x, self.query)
        key = torch.einsum("btd,dhk->bhtk", x, self.key)
        value = torch.einsum("btd,dhk->bhtk", x, self.value)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.out(mixed.transpose(1, 2).flatten(2))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        tokens = torch.randint(24, (128, 10), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(tokens, tokens.flip(1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Sequential(nn.Embedding(24, 32), Attention(), nn.Linear(32, 24)).to(device))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for sequence, backwards in loader:
                scores = model(sequence.to(device))
                loss = nn.functional.cross_entropy(scores.flatten(0, 1), backwards.to(device).flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
