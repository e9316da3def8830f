"""A class that is entered and left: __exit__ destroys the group that __enter__ made."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class ProcessGroup:
    def __init__(self, backend="nccl"):
        self.backend = backend
        self.local_rank = int(os.environ["LOCAL_RANK"])

    def __enter__(self):
        torch.cuda.set_device(self.local_rank)
        dist.init_process_group(self.backend)
        return self

    def __exit__(self, *error):
        dist.destroy_process_group()
        return False


def main():
    with ProcessGroup() as group:
        x = torch.randn(160, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.roll(1, dims=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(4, 4).cuda(), device_ids=[group.local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()


if __name__ == "__main__":
    main()
