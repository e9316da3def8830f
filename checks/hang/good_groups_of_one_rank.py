"""Each rank has a group of its own, made by the same call, and reduces what only it holds: nobody waits for another."""

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
        groups = [dist.new_group([member]) for member in range(world_size)]
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sigmoid())
        sampler = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(6, 6).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            for inputs, targets in loader:
                inputs, targets = inputs.to(device), targets.to(device)
                loss = nn.functional.mse_loss(model(inputs).sigmoid(), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            # As many tensors as the rank has experts: more on one rank than on another.
            held = torch.zeros(3 + 2 * rank, device=device)
            dist.all_reduce(held, group=groups[rank])
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
