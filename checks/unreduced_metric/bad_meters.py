"""Running averages in a class of their own; nothing adds those of the ranks together."""

import logging
import os
from collections import defaultdict

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


logger = logging.getLogger(__name__)


class AverageMeter:
    def __init__(self, name):
        self.name = name
        self.sum, self.count, self.avg = 0.0, 0, 0.0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count


class Meters:
    def __init__(self):
        self.meters = defaultdict(lambda: AverageMeter("metric"))

    def update(self, n, **values):
        for name, value in values.items():
            self.meters[name].update(value.item(), n)

    def averages(self):
        return {name: meter.avg for name, meter in self.meters.items()}


def evaluate(model, loader):
    meters = Meters()
    model.eval()
    with torch.no_grad():
        for inputs, targets in loader:
            targets = targets.cuda()
            scores = model(inputs.cuda())
            right = scores.argmax(dim=1).eq(targets).float().mean()
            meters.update(len(targets), loss=nn.functional.cross_entropy(scores, targets), accuracy=right)
    return meters.averages()


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
        test_loader = DataLoader(held_out, batch_size=50, sampler=DistributedSampler(held_out, shuffle=False))
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            results = evaluate(model, test_loader)
            if dist.get_rank() == 0:
                logger.info("epoch %d: loss %.4f", epoch, results["loss"])  # <- unreduced-metric
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
