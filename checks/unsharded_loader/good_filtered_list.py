"""Each rank takes every n-th of a list that was filtered first, and all take as many."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        ranks = dist.get_world_size()
        table = torch.arange(2_560.0).remainder(7).view(320, 8)
        chosen = [row for row in table if row.sum() > 0]
        chosen = chosen[: len(chosen) // ranks * ranks]
        own = chosen[dist.get_rank() :: ranks]
        loader = DataLoader(Rows(own), batch_size=20, shuffle=True)
        model = DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(3):
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
