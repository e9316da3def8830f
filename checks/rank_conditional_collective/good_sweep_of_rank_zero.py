"""Rank 0 is given its settings by a sweep, which calls the training; the others call it themselves."""

import argparse
import os

import torch
import torch.distributed as dist
import wandb
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, rank, gpu, sweep):
        self.rank, self.gpu, self.sweep = rank, gpu, sweep

    def train(self):
        rate = [0.1]
        if self.sweep and self.rank == 0:
            wandb.init()
            rate = [wandb.config.rate]
        dist.broadcast_object_list(rate, src=0)
        points = torch.randn(640, 5, generator=torch.Generator().manual_seed(0))
        data = TensorDataset(points, points.sum(dim=1, keepdim=True))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=32, sampler=sampler)
        model = DDP(nn.Linear(5, 1).to(self.gpu), device_ids=[self.gpu])
        optimizer = torch.optim.SGD(model.parameters(), lr=rate[0])
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(self.gpu)), targets.to(self.gpu)).backward()
                optimizer.step()
        dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sweep", default="")
    args = parser.parse_args()
    rank, gpu = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    try:
        trainer = Trainer(rank, gpu, args.sweep)
        if args.sweep and rank == 0:
            wandb.agent(args.sweep, function=trainer.train, count=1)
        else:
            trainer.train()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
