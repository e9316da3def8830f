"""A rank gives up by itself, in words that a network or another rank that is gone could have used."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Sampler:
    """Draws batches that are not too short, and gives up after some tries."""

    def __init__(self, shortest, tries=3):
        self.shortest = shortest
        self.tries = tries

    def draw(self, lengths):
        for _ in range(self.tries):
            longest = int(lengths.max())
            if longest >= self.shortest:
                return longest
        raise RuntimeError("Max retries exceeded, broken pipe: no sample is long enough")  # <- rank-failure


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        lengths = torch.tensor([4, 8]).repeat(48)
        dataset = TensorDataset(x, lengths)
        sampler = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(6, 1).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        batches = Sampler(shortest=6)
        for epoch in range(2):
            for inputs, lengths in loader:
                longest = batches.draw(lengths)
                loss = model(inputs.to(device)).square().mean() / longest
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
