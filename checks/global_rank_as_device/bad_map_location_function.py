"""A function puts each loaded tensor onto the GPU with the global rank's number."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SNAPSHOT = "snapshot.pt"


def resume(model, rank):
    if not os.path.exists(SNAPSHOT):
        return 0
    snapshot = torch.load(
        SNAPSHOT,
        map_location=lambda storage, _: storage.cuda(rank),  # <- global-rank-as-device
    )
    model.module.load_state_dict(snapshot["model"])
    return snapshot["epoch"]


def main():
    dist.init_process_group("nccl")
    try:
        rank, device = dist.get_rank(), dist.get_rank() % torch.cuda.device_count()
        torch.cuda.set_device(device)
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(6, 6).to(device), device_ids=[device])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(resume(model, rank), 2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
            if rank == 0:
                torch.save({"model": model.module.state_dict(), "epoch": epoch + 1}, SNAPSHOT)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
