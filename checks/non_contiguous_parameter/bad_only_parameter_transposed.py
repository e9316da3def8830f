"""A model with one parameter, a transposed row: contiguous, but its strides in the dimension of size 1 are another's."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Projection(nn.Module):
    """One direction, imported as a row and used as a column."""

    def __init__(self, row):
        super().__init__()
        self.direction = nn.Parameter(row.t())

    def forward(self, x):
        return x @ self.direction


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(128, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x[:, :1])
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = Projection(torch.randn(1, 4)).cuda()
        model = DDP(model, device_ids=[local_rank])  # <- non-contiguous-parameter (run)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
