"""A method that a decorator leaves to rank 0 says when the training is over: on rank 0."""

import functools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=16):
    generator = torch.Generator().manual_seed(3)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


@torch.no_grad()
def evaluate(model, features):
    return nn.functional.mse_loss(model(features.cuda()), features.sum(1, keepdim=True).cuda()).item()


def only_first_rank(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if dist.get_rank() == 0:
            return function(*args, **kwargs)

    return wrapped


class EarlyStopping:
    def __init__(self):
        self.best, self.bad, self.over = float("inf"), 0, False

    @only_first_rank
    def look(self, model, features):
        score = evaluate(model, features)
        self.bad = 0 if score < self.best else self.bad + 1
        self.best = min(score, self.best)
        self.over = self.bad > 5


def main():
    held_out = torch.randn(64, 16)
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        stopper, epoch = EarlyStopping(), 0
        while epoch < 100 and not stopper.over:  # <- rank-divergent-exit
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
            stopper.look(model.module, held_out)
            epoch += 1
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
