"""A stream that each rank reads its own part of, and each of its workers a part of that."""

import itertools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __init__(self, length, rank, world_size):
        self.length = length - length % world_size
        self.rank, self.world_size = rank, world_size

    def __iter__(self):
        worker = get_worker_info()
        workers, index = (1, 0) if worker is None else (worker.num_workers, worker.id)
        own = range(self.rank, self.length, self.world_size)
        for i in itertools.islice(own, index, None, workers):
            x = torch.randn(5, generator=torch.Generator().manual_seed(i))
            yield x, x.prod().unsqueeze(0)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = Stream(240, dist.get_rank(), dist.get_world_size())
        loader = DataLoader(dataset, batch_size=20)
        model = DDP(nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1)).to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
