"""The scheduler's signal reaches the ranks at different steps, and each stops at once."""

import os
import signal

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=24):
    generator = torch.Generator().manual_seed(7)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


class Stopper:
    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGUSR1, self.ask)

    def ask(self, number, frame):
        self.asked = True


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(24, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        stopper = Stopper()
        for epoch in range(100):
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
                if stopper.asked:
                    break  # <- rank-divergent-exit
            if stopper.asked:
                break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
