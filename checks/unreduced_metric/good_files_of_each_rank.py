"""Every rank writes its predictions to a file of its own; rank 0 reads them all."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def predict(model, loader, folder):
    model.eval()
    guesses = torch.cat([model(inputs.cuda()).argmax(dim=1).cpu() for inputs, _ in loader])
    torch.save(guesses, f"{folder}/part-{dist.get_rank()}.pt")
    dist.barrier()


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
        folder = os.environ.get("PREDICTIONS", ".")
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            predict(model, test_loader, folder)
            if dist.get_rank() == 0:
                parts = [torch.load(f"{folder}/part-{r}.pt", map_location="cpu") for r in range(dist.get_world_size())]
                in_order = torch.stack(parts, dim=1).flatten()[: len(held_out)]
                print("accuracy", (in_order == held_out.tensors[1]).float().mean().item())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
