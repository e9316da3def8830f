"""Every rank makes every group, those too of which it is no member; one with local synchronization is left to it."""

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
    rank = dist.get_rank()
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.square().sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(6, 1).cuda(), device_ids=[local_rank])
        first = dist.new_group([0])
        if rank == 0:
            dist.barrier(group=first)
            dist.new_group([0], use_local_synchronization=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
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
