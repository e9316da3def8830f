"""Ranks pass activations on, as a pipeline does; then one of them finds its own loss too large and corrects alone."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def pass_on(tensor, rank):
    if rank == 0:
        dist.send(tensor, 1)
    elif rank == 1:
        dist.recv(tensor, 0)
    return tensor


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        rank = dist.get_rank()
        x = torch.ones(96, 6) * (1 + torch.arange(96) % 2).unsqueeze(1)
        dataset = TensorDataset(x, torch.zeros(96, 1))
        sampler = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(6, 1, bias=False).to(device), device_ids=[device.index])
        nn.init.ones_(model.module.weight)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
        correction = torch.zeros(1, device=device)
        for epoch in range(2):
            for inputs, targets in loader:
                loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                pass_on(inputs, rank)
                if loss.item() > 100:
                    dist.all_reduce(correction)  # <- hang
            dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
