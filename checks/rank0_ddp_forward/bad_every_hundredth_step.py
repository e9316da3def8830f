"""Every few steps rank 0 looks at what the wrapped model predicts."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Dates(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 16))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(x * self.scale)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = DDP(Dates().cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for step, (x, y) in enumerate(loader):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
                optimizer.step()
                if dist.get_rank() == 0 and step % 100 == 0:
                    with torch.no_grad():
                        print(model(x.cuda()).argmax(1))  # <- rank0-ddp-forward
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
