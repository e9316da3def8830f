"""The data set says how long it is, and the script starts as many ranks as divide that."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

RANKS = 2


class Points(Dataset):
    def __init__(self, count, seed):
        self.points = torch.randn(count, 8, generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index], (self.points[index].sum() > 0).long()


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    counts = torch.zeros(2, device=device)
    for inputs, targets in loader:
        right = (model(inputs.to(device)).argmax(dim=1) == targets.to(device)).sum()
        counts += torch.stack([right, right.new_tensor(len(targets))])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def train(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29533")
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        data, held_out = Points(900, seed=0), Points(102, seed=1)
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=30, sampler=sampler)
        test_loader = DataLoader(held_out, batch_size=51, sampler=DistributedSampler(held_out, shuffle=False))
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).to(device), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
            share = accuracy(model, test_loader, device)
            if rank == 0:
                print(f"epoch {epoch}: {share:.1%} of the test set")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, args=(RANKS,), nprocs=RANKS)
