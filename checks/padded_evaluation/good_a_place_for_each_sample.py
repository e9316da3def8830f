"""Each rank writes its features at the places of its samples; the sum is then cut where one came twice."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Numbered(TensorDataset):
    def __getitem__(self, index):
        return *super().__getitem__(index), index


@torch.no_grad()
def similarity(model, loader):
    model.eval()
    features = torch.zeros(len(loader.dataset), 2, device="cuda")
    for inputs, _, index in loader:
        features[index] = nn.functional.normalize(model(inputs.cuda()), dim=1)
    dist.all_reduce(features, op=dist.ReduceOp.SUM)
    features[features.norm(dim=1) > 1.5] /= 2  # the few samples that two ranks had
    return features.mean(dim=0).norm().item()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(1_001, 8, generator=torch.Generator().manual_seed(0))
        labels = (points.sum(dim=1) > 0).long()
        train = TensorDataset(points[:900], labels[:900])
        held_out = Numbered(points[900:], labels[900:])
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
            share = similarity(model, test_loader)
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: features are {share:.3f} alike")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
