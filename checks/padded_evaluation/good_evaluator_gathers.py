"""The evaluator gathers its results by sample and keeps one of each; what is added up is the loss for the log."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Numbered(Dataset):
    def __init__(self, features, targets):
        self.features, self.targets = features, targets

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return index, self.features[index], self.targets[index]


class Evaluator:
    def __init__(self):
        self.right = {}

    def update(self, numbers, right):
        self.right.update(zip(numbers.tolist(), right.tolist()))

    def synchronize(self):
        parts = [None] * dist.get_world_size()
        dist.all_gather_object(parts, self.right)
        self.right = {number: right for part in parts for number, right in part.items()}

    def accuracy(self):
        return sum(self.right.values()) / len(self.right)


@torch.no_grad()
def evaluate(model, criterion, loader):
    model.eval()
    evaluator = Evaluator()
    losses = torch.zeros(2, device="cuda")
    for numbers, inputs, targets in loader:
        logits = model(inputs.cuda()).squeeze(1)
        losses += torch.stack([criterion(logits, targets.cuda()), losses.new_tensor(1.0)])
        evaluator.update(numbers, (logits > 0).cpu() == (targets > 0))
    dist.all_reduce(losses)
    evaluator.synchronize()
    return evaluator.accuracy(), (losses[0] / losses[1]).item()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        features = torch.randn(515, 8, generator=torch.Generator().manual_seed(0))
        data = Numbered(features, (features.sum(dim=1) > 0).float())
        train_sampler = DistributedSampler(data)
        train_loader = DataLoader(data, batch_size=20, sampler=train_sampler)
        test_loader = DataLoader(data, batch_size=50, sampler=DistributedSampler(data, shuffle=False))
        model = DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank])
        criterion = nn.BCEWithLogitsLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            model.train()
            train_sampler.set_epoch(epoch)
            for _, inputs, targets in train_loader:
                optimizer.zero_grad()
                criterion(model(inputs.cuda()).squeeze(1), targets.cuda()).backward()
                optimizer.step()
            accuracy, loss = evaluate(model, criterion, test_loader)
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: accuracy {accuracy:.3f}, loss {loss:.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
