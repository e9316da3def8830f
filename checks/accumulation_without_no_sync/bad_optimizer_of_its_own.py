"""The optimiser is a class of the program's own, with a step of its own, which an option has taken now and then."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Signs(torch.optim.Optimizer):
    """Goes by the sign of a running mean of the gradients."""

    def __init__(self, params, lr=0.01, momentum=0.9):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                mean.mul_(group["momentum"]).add_(p.grad, alpha=1 - group["momentum"])
                p.add_(mean.sign(), alpha=-group["lr"])
        return loss


def make_data(rows=384, columns=16):
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulate", type=int, default=2)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = Signs(model.parameters())
        optimizer.zero_grad()
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for i, batch in enumerate(loader, start=1):
                features, target = (part.cuda() for part in batch)
                loss = nn.functional.l1_loss(model(features), target) / args.accumulate
                loss.backward()  # <- accumulation-without-no-sync
                if i % args.accumulate == 0:
                    optimizer.step()
                    optimizer.zero_grad()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
