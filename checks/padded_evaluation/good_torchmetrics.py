"""A metric of torchmetrics gathers what it has from every rank, and counts each sample once."""

import os

import torch
import torch.distributed as dist
import torchmetrics
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class AccuracyBySample(torchmetrics.Metric):
    """Keeps the number of each sample beside its result: the copies are the same sample."""

    def __init__(self):
        super().__init__()
        self.add_state("numbers", default=[], dist_reduce_fx="cat")
        self.add_state("right", default=[], dist_reduce_fx="cat")

    def update(self, numbers, right):
        self.numbers.append(numbers)
        self.right.append(right)

    def compute(self):
        numbers, right = torch.cat(self.numbers), torch.cat(self.right)
        result = torch.zeros(int(numbers.max()) + 1, device=right.device)
        result[numbers] = right.float()
        return result.mean()


@torch.no_grad()
def evaluate(model, loader, metric):
    model.eval()
    metric.reset()
    for numbers, inputs, targets in loader:
        right = model(inputs.cuda()).argmax(dim=1) == targets.cuda()
        metric.update(numbers.cuda(), right)
    return metric.compute()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(1_001, 8, generator=torch.Generator().manual_seed(0))
        labels = (points.sum(dim=1) > 0).long()
        train = TensorDataset(points[:900], labels[:900])
        held_out = TensorDataset(points[900:], labels[900:])
        sampler = DistributedSampler(train)
        train_loader = DataLoader(train, batch_size=30, sampler=sampler)
        numbered = TensorDataset(torch.arange(101), *held_out.tensors)
        test_loader = DataLoader(numbered, batch_size=50, sampler=DistributedSampler(numbered, shuffle=False))
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        metric = AccuracyBySample().cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            accuracy = evaluate(model, test_loader, metric)
            if dist.get_rank() == 0:
                print("accuracy", accuracy.item())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
