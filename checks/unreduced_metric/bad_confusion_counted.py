"""A confusion matrix that each rank counts up by itself, guess by guess."""

import os
import numpy as np
import torch
import torch.nn.functional as F
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

class Confusion:
    def __init__(self, n):
        self.m = np.zeros((n, n))
    def update(self, p, y):
        for a, b in zip(p, y):
            self.m[a, b] += 1
    def miou(self):
        d = np.diag(self.m)
        return (d / (self.m.sum(0) + self.m.sum(1) - d)).mean()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        net = DDP(torch.nn.Linear(4, 3).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        train = TensorDataset(torch.randn(100, 4), torch.randint(0, 3, (100,)))
        val = TensorDataset(torch.randn(96, 4), torch.randint(0, 3, (96,)))
        sampler = DistributedSampler(train)
        loader = DataLoader(train, batch_size=4, sampler=sampler)
        val_loader = DataLoader(val, batch_size=4, sampler=DistributedSampler(val, shuffle=False))
        for epoch in range(10):
            sampler.set_epoch(epoch)
            net.train()
            for x, y in loader:
                loss = F.cross_entropy(net(x.cuda()), y.cuda())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            net.eval()
            conf = Confusion(3)
            with torch.no_grad():
                for x, y in val_loader:
                    conf.update(net(x.cuda()).argmax(1).cpu().numpy(), y.numpy())
            if rank == 0:
                print("miou", conf.miou())  # <- unreduced-metric

    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
