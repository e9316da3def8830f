"""The network itself makes its optimiser, by a method that is called when it is wrapped already."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=384, columns=16):
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


class Regression(nn.Linear):
    def configure_optimizers(self, lr):
        groups = [
            {"params": [p for p in self.parameters() if p.dim() >= 2], "weight_decay": 0.1},
            {"params": [p for p in self.parameters() if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=lr)


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
        model = DDP(Regression(16, 1).cuda(), device_ids=[local_rank])
        raw_model = model.module
        optimizer = raw_model.configure_optimizers(lr=0.01)
        optimizer.zero_grad()
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for i, batch in enumerate(loader, start=1):
                features, target = (part.cuda() for part in batch)
                loss = nn.functional.l1_loss(model(features), target) / args.accumulate
                loss.backward()  # <- accumulation-without-no-sync
                if i % args.accumulate != 0 and i != len(loader):
                    continue
                optimizer.step()
                optimizer.zero_grad()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
