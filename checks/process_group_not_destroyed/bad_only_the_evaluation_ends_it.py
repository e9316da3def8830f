"""Only the path of ``--evaluate`` destroys the group: a training run returns with it open on every rank."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--evaluate", action="store_true", help="score the model and leave")
    parser.add_argument("--steps", type=int, default=20)
    return parser.parse_args()


def evaluate(model, device):
    model.eval()
    with torch.no_grad():
        score = model(torch.ones(16, 8, device=device)).square().mean()
    dist.all_reduce(score)
    if dist.get_rank() == 0:
        print(f"score {score.item() / dist.get_world_size():.4f}")


def train(model, device, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(16, 8, generator=generator).to(device)).square().mean().backward()
        optimizer.step()


def main():
    args = parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")  # <- process-group-not-destroyed
    model = DDP(nn.Linear(8, 2).to(device), device_ids=[device.index])
    if args.evaluate:
        evaluate(model, device)
        dist.destroy_process_group()
        return
    train(model, device, args.steps)


if __name__ == "__main__":
    main()
