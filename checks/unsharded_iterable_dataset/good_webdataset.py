"""webdataset splits its shards by node itself."""

import os

import torch
import torch.distributed as dist
import webdataset as wds
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


def shards(pattern):
    return wds.WebDataset(pattern, nodesplitter=wds.split_by_node, shardshuffle=100).decode("torch").to_tuple("pth")


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        loader = DataLoader(shards(os.environ["SHARDS"]), batch_size=20, num_workers=2)
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
