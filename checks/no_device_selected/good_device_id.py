"""device_id= binds the process group to the rank's GPU, and everything else names it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def group_options(device):
    return {"backend": "nccl", "device_id": device}


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(**group_options(device))
    try:
        dist.barrier()
        x = torch.randn(128, 9, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.logsumexp(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(9, 1).to(device), device_ids=[device])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
