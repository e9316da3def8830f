"""Random samples from all of the data, drawn with a generator that is seeded by the rank."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


def main():
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(240, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
        generator = torch.Generator()
        generator.manual_seed(rank)
        loader = DataLoader(dataset, batch_size=15, sampler=RandomSampler(dataset, generator=generator))
        model = DDP(nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for _ in range(3):
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
