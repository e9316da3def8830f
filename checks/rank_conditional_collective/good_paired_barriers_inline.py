"""Rank 0 prepares a file between two barriers that stand in opposite arms, as two separate ifs."""

import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def statistics(rank, data, path="statistics.json"):
    if rank != 0:
        dist.barrier()
    if rank == 0:
        with open(path, "w") as file:
            json.dump({"mean": data.mean().item(), "std": data.std().item()}, file)
        dist.barrier()
    with open(path) as file:
        return json.load(file)


def main():
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    try:
        data = torch.rand(112, 4, generator=torch.Generator().manual_seed(0)) * 9
        known = statistics(dist.get_rank(), data)
        data = (data - known["mean"]) / known["std"]
        dataset = TensorDataset(data, data.prod(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=14, sampler=sampler)
        model = DDP(nn.Linear(4, 1).cuda(gpu), device_ids=[gpu])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda(gpu)), targets.cuda(gpu)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
