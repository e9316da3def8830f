"""A class token before one sequence a step: its gradient is a slice whose strides differ in name only (nominal)."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class TokenClassifier(nn.Module):
    def __init__(self, width=16, classes=3):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.mix = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, sequence):
        tokens = torch.cat([self.token.expand(len(sequence), -1, -1), sequence], dim=1)
        return self.head(torch.tanh(self.mix(tokens)).mean(dim=1))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        sequences = torch.randn(40, 7, 16, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(sequences, sequences.sum(dim=(1, 2)).gt(0).long())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=1, sampler=sampler)
        model = DDP(TokenClassifier().to(device), device_ids=[device.index])  # <- grad-stride-mismatch (run)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for sequence, label in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(sequence.to(device)), label.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
