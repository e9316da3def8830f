"""The first rank of each node collects the results of all ranks as objects; the others never send theirs."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

LOCAL_RANK = int(os.environ["LOCAL_RANK"])


def train(device, epochs=2):
    x = torch.rand(128, 3, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(nn.Linear(3, 1).to(device), device_ids=[LOCAL_RANK])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    device = torch.device("cuda", LOCAL_RANK)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        losses = train(device)
        if LOCAL_RANK == 0:
            everyone = [None] * dist.get_world_size()
            dist.all_gather_object(everyone, losses)  # <- rank-conditional-collective
            print(everyone)
        dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
