"""The first barrier says which device it uses; set_device follows before anything else touches a GPU."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def setup():
    local_rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    dist.barrier(device_ids=[local_rank])
    torch.cuda.set_device(local_rank)
    return local_rank


def main():
    local_rank = setup()
    try:
        x = torch.randn(128, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.min(dim=1, keepdim=True).values)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(6, 1).cuda(), device_ids=[local_rank])
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
