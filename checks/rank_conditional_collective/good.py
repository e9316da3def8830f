"""Every rank takes part in the reduction; the rank test is around the print."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(160, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.square().sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            total = torch.zeros(1, device="cuda")
            for inputs, targets in loader:
                loss = nn.functional.mse_loss(model(inputs.cuda()), targets.cuda())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.detach()
            dist.all_reduce(total)
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: {total.item() / dist.get_world_size():.4f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
