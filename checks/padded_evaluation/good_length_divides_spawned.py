"""200 samples to evaluate on as many processes as an option says: 2, 4 and 8 get equally many."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    counts = torch.zeros(2, device="cuda")
    for inputs, targets in loader:
        right = (model(inputs.cuda()).argmax(dim=1) == targets.cuda()).sum()
        counts += torch.stack([right, right.new_tensor(len(targets))])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def train_on(rank, world_size):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="env://", rank=rank, world_size=world_size)
    try:
        points = torch.randn(1_000, 8, generator=torch.Generator().manual_seed(0))
        labels = (points.sum(dim=1) > 0).long()
        data = TensorDataset(points, labels)
        train, held_out = random_split(data, [0.8, 0.2], generator=torch.Generator().manual_seed(1))
        sampler = DistributedSampler(train)
        train_loader = DataLoader(train, batch_size=30, sampler=sampler)
        test_sampler = DistributedSampler(held_out, shuffle=False)
        test_loader = DataLoader(held_out, batch_size=50, sampler=test_sampler)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            share = accuracy(model, test_loader)
            if rank == 0:
                print(f"epoch {epoch}: {share:.1%} of the test set")
    finally:
        dist.destroy_process_group()


def main():
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29500")
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, required=True)
    args = parser.parse_args()
    mp.spawn(train_on, args=(args.gpus,), nprocs=args.gpus)


if __name__ == "__main__":
    main()
