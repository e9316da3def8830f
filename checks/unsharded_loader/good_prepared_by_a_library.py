"""A function of a library gets the loader and gives one back that deals its batches out to the ranks."""

import os

import torch
import torch.distributed as dist
from accelerate.data_loader import prepare_data_loader
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
        loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=32, shuffle=True)
        loader = prepare_data_loader(loader, num_processes=dist.get_world_size(), process_index=dist.get_rank())
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8)).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(3):
            for inputs, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.to(rank)), labels.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
