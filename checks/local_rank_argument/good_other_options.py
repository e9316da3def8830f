"""Options whose names contain local_rank are about logging; the rank itself comes from the environment."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log_local_rank", type=int, default=0, help="the rank of each node that prints")
    parser.add_argument("--show_local_rank", action="store_true")
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(144, 7, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sum(dim=1, keepdim=True).sin())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        model = DDP(nn.Linear(7, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(inputs.cuda()), targets.cuda())
                loss.backward()
                optimizer.step()
            if local_rank == args.log_local_rank:
                name = f"local rank {local_rank}: " if args.show_local_rank else ""
                print(f"{name}epoch {epoch}, last loss {loss.item():.4f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
