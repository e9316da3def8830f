"""A sampler of the project's own that repeats samples and splits them by rank, built in a factory."""

import math
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Sampler, TensorDataset


class RepeatSampler(Sampler[int]):
    """Every sample ``repeats`` times an epoch, its copies on different ranks."""

    def __init__(self, dataset, repeats=3, num_replicas=None, rank=None):
        self.num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
        self.rank = dist.get_rank() if rank is None else rank
        self.length, self.repeats, self.epoch = len(dataset), repeats, 0
        self.num_samples = math.ceil(self.length * repeats / self.num_replicas)

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.epoch)
        order = torch.randperm(self.length, generator=generator).repeat_interleave(self.repeats).tolist()
        order += order[: self.num_samples * self.num_replicas - len(order)]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self):
        return self.num_samples


def build_data(batch_size):
    x = torch.randn(160, 8, generator=torch.Generator().manual_seed(3))
    dataset = TensorDataset(x, x.argmax(dim=1))
    sampler = RepeatSampler(dataset)
    return sampler, DataLoader(dataset, batch_size, sampler=sampler, drop_last=True)


def main():
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    try:
        sampler, loader = build_data(batch_size=20)
        model = DDP(nn.Linear(8, 8).cuda(gpu), device_ids=[gpu])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.cuda(gpu)), y.cuda(gpu)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
