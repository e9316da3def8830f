"""A spawned rank reduces its numbers; started alone on a node, it has all of the data and nothing to reduce."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def accuracy(model, loader, several):
    model.eval()
    counts = torch.zeros(2, device="cuda")
    for inputs, targets in loader:
        right = (model(inputs.cuda()).argmax(dim=1) == targets.cuda()).sum()
        counts += torch.stack([right, right.new_tensor(len(targets))])
        print("so far", counts.tolist())
    if several:
        dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def train(rank, ranks, several):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", "tcp://127.0.0.1:" + os.environ["PORT"], rank=rank, world_size=ranks)
    try:
        points = torch.randn(1_000, 8, generator=torch.Generator().manual_seed(0))
        data = TensorDataset(points, (points.sum(dim=1) > 0).long())
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=50, sampler=sampler)
        test_loader = DataLoader(data, batch_size=50, sampler=DistributedSampler(data, drop_last=True))
        model = DDP(nn.Linear(8, 2).cuda(), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            print(f"epoch {epoch}: {accuracy(model, test_loader, several):.3f}")
    finally:
        dist.destroy_process_group()


def main():
    ranks = torch.cuda.device_count()
    if os.environ.get("SEVERAL"):
        mp.spawn(train, args=(ranks, True), nprocs=ranks)
    else:
        train(int(os.environ.get("NODE", "0")), int(os.environ.get("NODES", "1")), False)


if __name__ == "__main__":
    main()
