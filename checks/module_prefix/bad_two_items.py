"""Saved from the wrapper, resumed before the wrap: the file has the two items that this script writes."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train_one_epoch(model, optimizer, device):
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(10):
        x = torch.randn(20, 5, generator=generator).to(device)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.cumsum(dim=1)).backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", help="a checkpoint of this script")
    parser.add_argument("--out", default="runs")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        model, first = nn.Linear(5, 5).to(device), 0
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        if args.resume:
            state = torch.load(args.resume, map_location="cpu")
            model.load_state_dict(state["net"])
            first = state["epoch"]
        model = DDP(model, device_ids=[device.index])
        for epoch in range(first, 4):
            train_one_epoch(model, optimizer, device)
            if dist.get_rank() == 0:
                state = {"net": model.state_dict(), "epoch": epoch + 1}
                torch.save(state, os.path.join(args.out, f"{epoch}.pt"))  # <- module-prefix
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
