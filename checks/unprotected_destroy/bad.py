"""The group is destroyed by the last statement of main(): an exception in the training skips it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")

    x = torch.randn(240, 8, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.relu())
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=24, sampler=sampler)
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
            optimizer.step()

    dist.destroy_process_group()  # <- unprotected-destroy


if __name__ == "__main__":
    main()
