"""A collective of a subgroup stands under a test for its members: who does not belong to it must not call it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        rank, world_size = dist.get_rank(), dist.get_world_size()
        even = list(range(0, world_size, 2))
        group = dist.new_group(even)
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.abs())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(4, 4).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if rank in even:
                mean = loss.detach().clone()
                dist.all_reduce(mean, group=group)
                if rank == even[0]:
                    print(f"epoch {epoch}: {mean.item() / len(even):.4f} on the even ranks")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
