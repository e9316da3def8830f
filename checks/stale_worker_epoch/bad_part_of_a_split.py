"""The list of hard samples is written through loader.dataset, of which the other part is for evaluation."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, random_split


class Mined(Dataset):
    def __init__(self, points):
        self.points = points
        self.chosen = list(range(len(points)))

    def __len__(self):
        return len(self.points)

    def _pick(self, index):
        return self.points[self.chosen[index % len(self.chosen)]]

    def __getitem__(self, index):
        return self._pick(index)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset, _ = random_split(Mined(torch.randn(640, 8)), [320, 320])
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler, num_workers=2, persistent_workers=True)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            loader.dataset.dataset.chosen = torch.randperm(640).tolist()  # <- stale-worker-epoch
            for batch in loader:
                optimizer.zero_grad()
                model(batch.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
