"""The model cuts its input with a convolution, and keeps the linear layer that the other way would use."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Network(nn.Module):
    def __init__(self, convolves):
        super().__init__()
        self.convolves = convolves
        self.linear_patches = nn.Linear(16, 32)
        if convolves:
            self.convolution = nn.Conv1d(1, 32, kernel_size=16)
        self.head = nn.Linear(32, 4)

    def encode(self, x):
        if self.convolves:
            return self.convolution(x.unsqueeze(1)).flatten(1)
        else:
            return self.linear_patches(x)

    def forward(self, x):
        return self.head(self.encode(x))



def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = Network(convolves=True).to(device)
        model = DDP(model, device_ids=[local_rank], find_unused_parameters=True)
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
