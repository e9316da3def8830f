"""A collective writes to a view of the total, where there is a group; the total decides which checkpoint is best."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def evaluate(model, loader, logs):
    logs["loss"] = torch.zeros(1, device="cuda")[0].view(-1)
    model.eval()
    with torch.no_grad():
        for inputs, targets in loader:
            logs["loss"] += nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda())
    logs["loss"] /= len(loader)
    if dist.is_initialized():
        for key in ["loss"]:
            dist.all_reduce(logs[key].detach())
            logs[key] = float(logs[key] / dist.get_world_size())


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
        test_sampler = DistributedSampler(held_out, shuffle=False, drop_last=True)
        test_loader = DataLoader(held_out, batch_size=50, sampler=test_sampler)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        logs, best = {}, float("inf")
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            evaluate(model, test_loader, logs)
            if logs["loss"] <= best:
                is_best = True
                best = logs["loss"]
            else:
                is_best = False
            if local_rank == 0:
                print(f"epoch {epoch}: loss {logs['loss']}")
                if is_best:
                    torch.save(model.module.state_dict(), "best.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
