"""One function builds the training and the evaluation loader; shuffle is overwritten before it can meet the sampler."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

DEFAULTS = {"batch_size": 16, "shuffle": True, "num_workers": 0}


def build_loader(dataset, sampler=None, **overrides):
    options = {**DEFAULTS, **overrides}
    if sampler is not None:
        options["shuffle"] = False
        options["sampler"] = sampler
    return DataLoader(dataset, **options)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    right = sum((model(x.to(device)).argmax(dim=1).cpu() == y).sum().item() for x, y in loader)
    model.train()
    return right / len(loader.dataset)


def main():
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(280, 8, generator=torch.Generator().manual_seed(5))
        everything = TensorDataset(x, (x[:, 0] > 0).long())
        train_set, val_set = Subset(everything, range(240)), Subset(everything, range(240, 280))
        train_loader = build_loader(train_set, DistributedSampler(train_set))
        val_loader = build_loader(val_set, shuffle=False)
        model = DDP(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to(device), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            train_loader.sampler.set_epoch(epoch)
            for features, labels in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(features.to(device)), labels.to(device)).backward()
                optimizer.step()
            if rank == 0:
                print(f"epoch {epoch}: accuracy {evaluate(model.module, val_loader, device):.2f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
