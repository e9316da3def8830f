"""A library's method of the network is handed the wrapper to call."""
# not run: what makes the network is not installed

import argparse
import os

import torch
import torch.distributed as dist
from acme_recommender import get_model, get_trainer_defaults
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, model, args):
        self.args = args
        self.rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.rank)
        dist.init_process_group("nccl")
        model.to(self.rank)
        self.model = DDP(model, device_ids=[self.rank])
        self.optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    def train_epoch(self, loader):
        self.model.train()
        for (batch,) in loader:
            self.optimizer.zero_grad()
            results = self.model.module.train_step(batch.to(self.rank), forward=self.model)
            results["loss"].backward()
            self.optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    trainer = Trainer(get_model("sequence", **get_trainer_defaults()), args)
    try:
        dataset = TensorDataset(torch.randn(320, 8))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            trainer.train_epoch(loader)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
