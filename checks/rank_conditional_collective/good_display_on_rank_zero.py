"""Rank 0 draws a progress bar around its steps; every few of them all ranks put a count together, kept in an object."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from tqdm import tqdm


def get_rank():
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def reduce_sum(tensor):
    if not dist.is_initialized():
        return tensor
    tensor = tensor.clone()
    dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
    return tensor


class Strength:
    def __init__(self, device, every):
        self.seen = torch.zeros(2, device=device)
        self.updates = 0
        self.every = every
        self.value = 0.0

    @torch.no_grad()
    def tune(self, predicted):
        self.seen += torch.tensor((predicted.sign().sum().item(), predicted.shape[0]), device=predicted.device)
        self.updates += 1
        if self.updates % self.every == 0:
            self.seen = reduce_sum(self.seen)
            signs, count = self.seen.tolist()
            self.value += signs / count
            self.seen.mul_(0)
            self.updates = 0
        return self.value


def train(model, optimizer, device, steps=16):
    rounds = range(steps)
    if get_rank() == 0:
        rounds = tqdm(rounds, smoothing=0.01)
    strength = Strength(device, 8)
    for step in rounds:
        predicted = model(torch.randn(20, 4, device=device))
        optimizer.zero_grad()
        predicted.square().mean().backward()
        optimizer.step()
        value = strength.tune(predicted)
        if get_rank() == 0:
            rounds.set_description(f"{step}: {value:.3f}")


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = DDP(nn.Linear(4, 4).to(device), device_ids=[device.index])
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
