"""A loader of the script's own keeps each batch for a round and is gone through by number; nothing tells the epoch."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Prefetcher:
    def __init__(self, loader, device):
        self.loader, self.device = loader, device

    def __iter__(self):
        first = True
        for batch in self.loader:  # <- missing-set-epoch
            upcoming = [part.to(self.device, non_blocking=True) for part in batch]
            if not first:
                yield input, target
            else:
                first = False
            input, target = upcoming
        yield input, target

    def __len__(self):
        return len(self.loader)

    @property
    def sampler(self):
        return self.loader.sampler


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(1_001, 8, generator=torch.Generator().manual_seed(0))
        labels = (points.sum(dim=1) > 0).long()
        train = TensorDataset(points[:900], labels[:900])
        train_loader = Prefetcher(DataLoader(train, batch_size=30, sampler=DistributedSampler(train)), "cuda")
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            model.train()
            for i, (inputs, targets) in enumerate(train_loader):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
                if i % 10 == 0 and dist.get_rank() == 0:
                    print(f"epoch {epoch}, batch {i} of {len(train_loader)}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
