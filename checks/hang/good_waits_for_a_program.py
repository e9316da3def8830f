"""Rank 0 waits for a program that takes a while, and the others for rank 0 in a barrier: slow, and no hang."""

import os
import subprocess
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def fetch():
    """Wait for the data; a stand-in for a transfer that neither computes nor reads here."""
    subprocess.run([sys.executable, "-c", "import time; time.sleep(12)"], check=True)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        if dist.get_rank() == 0:
            fetch()
        dist.barrier()
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.abs())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(4, 4).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
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
