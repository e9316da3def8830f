"""Two tasks take turns, and each uses a head of its own."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class TwoTasks(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Linear(16, width)
        self.classify = nn.Linear(width, 4)
        self.draw = nn.Linear(width, 16)

    def forward(self, x, task):
        h = self.body(x).relu()
        if task == "classes":
            return self.classify(h)
        return self.draw(h)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = DDP(TwoTasks().to(device), device_ids=[local_rank], find_unused_parameters=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x, "classes"), y).backward()
                optimizer.step()
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x, "pixels"), x).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
