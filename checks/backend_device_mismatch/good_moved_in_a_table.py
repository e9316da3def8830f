"""The heads are moved one by one, and a module is filled with a table of them."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Heads(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = nn.ModuleDict()
        self.heads.update(heads)

    def forward(self, x):
        return {name: head.forward(x) for name, head in self.heads.items()}


def build_heads(widths, device):
    heads = {}
    for width in widths:
        head = nn.Linear(6, width)
        heads[f"width_{width}"] = head.to(device)
    return Heads(heads)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = TensorDataset(torch.randn(96, 6))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        heads = DDP(build_heads((3, 5), local_rank))
        optimizer = torch.optim.SGD(heads.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (inputs,) in loader:
                optimizer.zero_grad()
                outputs = heads(inputs.to(local_rank))
                sum(output.square().mean() for output in outputs.values()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
