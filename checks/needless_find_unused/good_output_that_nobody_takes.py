"""A decoder that rates its own answer, in a model that has no use for the rating: the rating's head gets no gradient."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.answer = nn.Linear(16, 4)
        self.rating = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        return self.answer(x), self.rating(x)


class Network(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.encoder = nn.Linear(16, 16)
        self.decoder = decoder

    def forward(self, x):
        answer, _ = self.decoder(torch.relu(self.encoder(x)))
        return answer


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = DDP(Network(Decoder()).to(device), device_ids=[local_rank], find_unused_parameters=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
