# also: needless-find-unused
"""Checkpointing is off unless the configuration's file says otherwise, and it need not name it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from transformers import AutoConfig


class Deep(nn.Module):
    def __init__(self, config, width=32):
        super().__init__()
        self.config = config
        self.enter = nn.Linear(16, width)
        self.body = nn.Linear(width, width)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = self.enter(x)
        if getattr(self.config, "gradient_checkpointing", False) and self.training:
            x = checkpoint(self.body, x, use_reentrant=True)
        else:
            x = self.body(x)
        return self.head(x.relu())


def main():
    config = AutoConfig.from_pretrained(os.environ["MODEL"])
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = Deep(config).to(device)
        model = DDP(model, device_ids=[local_rank], find_unused_parameters=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
