"""A stream of the Hugging Face hub, split by node before it is loaded."""

import os

import torch
import torch.distributed as dist
from datasets import load_dataset
from datasets.distributed import split_dataset_by_node
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


def stream(name):
    whole = load_dataset(name, split="train", streaming=True).with_format("torch")
    return split_dataset_by_node(whole, rank=dist.get_rank(), world_size=dist.get_world_size())


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        loader = DataLoader(stream(os.environ["DATASET"]), batch_size=20)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
