"""200 samples to evaluate: 2, 4 and 8 ranks get equally many without a copy."""

import os

import torch
import torch.distributed as dist
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


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(1_000, 8, generator=torch.Generator().manual_seed(0))
        labels = (points.sum(dim=1) > 0).long()
        data = TensorDataset(points, labels)
        train, held_out = random_split(data, [0.8, 0.2], generator=torch.Generator().manual_seed(1))
        sampler = DistributedSampler(train)
        train_loader = DataLoader(train, batch_size=30, sampler=sampler)
        test_sampler = DistributedSampler(held_out, shuffle=False)
        test_loader = DataLoader(held_out, batch_size=50, sampler=test_sampler)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            share = accuracy(model, test_loader)
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: {share:.1%} of the test set")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
