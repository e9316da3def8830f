"""One rank of a distributed run saves, and the only process of any other: the option has two ways to say which it is."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, model, args, distributed):
        self.args = args
        if distributed:
            local_rank = int(os.environ["LOCAL_RANK"])
            self.saves = dist.get_rank() == 0
            self.model = DDP(model.cuda(local_rank), device_ids=[local_rank])
        else:
            self.saves = True
            self.model = model.cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def fit(self, dataset, distributed):
        sampler = DistributedSampler(dataset) if distributed else None
        loader = DataLoader(dataset, batch_size=8, sampler=sampler, shuffle=sampler is None)
        for epoch in range(self.args.epochs):
            if sampler is not None:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.model(inputs.cuda()), targets.cuda()).backward()
                self.optimizer.step()
            self.save(epoch)

    def save(self, epoch):
        if not self.saves:
            return
        network = self.model.module if hasattr(self.model, "module") else self.model
        torch.save({"network": network.state_dict(), "epoch": epoch}, self.args.out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", default="true")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--out", default="network.pth")
    args = parser.parse_args()
    distributed = (args.distributed == "true") or (args.distributed == "yes")
    if distributed:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        Trainer(nn.Linear(6, 6), args, distributed).fit(TensorDataset(x, x.cumsum(dim=1)), distributed)
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
