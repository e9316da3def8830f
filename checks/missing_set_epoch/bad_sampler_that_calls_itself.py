"""A sampler that groups samples by their length, found by a method that calls itself; nobody tells it the epoch."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class ByLength(DistributedSampler):
    def __init__(self, dataset, lengths, boundaries):
        super().__init__(dataset, shuffle=True)
        self.boundaries = boundaries
        self.buckets = [[] for _ in range(len(boundaries) - 1)]
        for index, length in enumerate(lengths):
            bucket = self._bucket(length, 0, len(boundaries) - 1)
            if bucket != -1:
                self.buckets[bucket].append(index)

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.epoch)
        order = []
        for bucket in self.buckets:
            order += [bucket[i] for i in torch.randperm(len(bucket), generator=generator)]
        return iter(order[self.rank :: self.num_replicas][: len(order) // self.num_replicas])

    def __len__(self):
        return sum(map(len, self.buckets)) // self.num_replicas

    def _bucket(self, length, low, high):
        if high <= low:
            return -1
        middle = (low + high) // 2
        if self.boundaries[middle] < length <= self.boundaries[middle + 1]:
            return middle
        if length <= self.boundaries[middle]:
            return self._bucket(length, low, middle)
        return self._bucket(length, middle + 1, high)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        angles = torch.rand(320, 1, generator=torch.Generator().manual_seed(0)) * 6.28
        dataset = TensorDataset(torch.cat([angles.cos(), angles.sin()], dim=1), angles)
        sampler = ByLength(dataset, range(1, len(dataset) + 1), [0, 80, 160, 240, 320])
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(2, 64), nn.GELU(), nn.Linear(64, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(4):
            for points, targets in loader:  # <- missing-set-epoch
                optimizer.zero_grad()
                nn.functional.mse_loss(model(points.cuda()), targets.cuda()).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                print("finished epoch", epoch)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
