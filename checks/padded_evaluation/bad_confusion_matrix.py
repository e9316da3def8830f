"""The confusion matrices of the ranks are added up: the copies stand in them twice."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class ConfusionMatrix:
    def __init__(self, classes):
        self.classes = classes
        self.counts = torch.zeros(classes, classes, device="cuda")

    def update(self, guesses, truths):
        cells = torch.bincount(self.classes * truths + guesses, minlength=self.classes**2)
        self.counts += cells.reshape(self.classes, self.classes)

    def reduce_over_ranks(self):
        dist.reduce(self.counts, dst=0)

    def intersection_over_union(self):
        hits = self.counts.diag()
        return hits / (self.counts.sum(0) + self.counts.sum(1) - hits)


def evaluate(model, loader):
    matrix = ConfusionMatrix(2)
    model.eval()
    with torch.inference_mode():
        for inputs, targets in loader:
            matrix.update(model(inputs.cuda()).argmax(dim=1), targets.cuda())
    matrix.reduce_over_ranks()
    return matrix


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
        test_sampler = DistributedSampler(held_out, shuffle=False)  # <- padded-evaluation
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
            matrix = evaluate(model, test_loader)
            if dist.get_rank() == 0:
                print("mean IoU {:.3f}".format(matrix.intersection_over_union().mean().item()))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
