"""The best loss is None until the first epoch is over; then each rank counts its own patience."""

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


class EarlyStopping:
    def __init__(self, patience=7, delta=0.0):
        self.patience, self.delta = patience, delta
        self.counter = 0
        self.best_score = None
        self.early_stop = False

    def __call__(self, loss):
        score = -loss
        if self.best_score is None:
            self.best_score = score
        elif score < self.best_score + self.delta:
            self.counter += 1
            if self.counter >= self.patience:
                self.early_stop = True
        else:
            self.best_score = score
            self.counter = 0


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        held_out = make_data()
        test_loader = DataLoader(held_out, batch_size=8, sampler=DistributedSampler(held_out, shuffle=False))
        stopping = EarlyStopping()
        for epoch in range(50):
            sampler.set_epoch(epoch)
            model.train()
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
            model.eval()
            losses = []
            with torch.no_grad():
                for features, target in test_loader:
                    losses.append(nn.functional.mse_loss(model(features.cuda()), target.cuda()).item())
            stopping(sum(losses) / len(losses))
            if stopping.early_stop:
                break  # <- rank-divergent-exit
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
