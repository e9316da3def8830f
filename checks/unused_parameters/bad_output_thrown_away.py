"""Both heads compute, and the loss takes one: only a run shows which parameters that leaves out."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class TwoHeads(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Linear(16, width)
        self.scores = nn.Linear(width, 4)
        self.certainty = nn.Linear(width, 1)

    def forward(self, x):
        h = self.body(x).relu()
        return self.scores(h), self.certainty(h)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = DDP(TwoHeads().to(device), device_ids=[local_rank])  # <- unused-parameters (run)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                scores, _ = model(x.to(device))
                optimizer.zero_grad()
                nn.functional.cross_entropy(scores, y.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
