# also: needless-find-unused
"""Without use_reentrant it is reentrant; a switch of the model turns checkpointing on."""

import os

import torch
import torch.distributed as dist
import torch.utils.checkpoint as cp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Deep(nn.Module):
    def __init__(self, width=32, depth=4, save_memory=False):
        super().__init__()
        self.save_memory = save_memory
        self.enter = nn.Linear(16, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 4)

    def _block(self, block, x):
        return block(x).relu()

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            if self.training and self.save_memory:
                x = cp.checkpoint(self._block, block, x)
            else:
                x = self._block(block, x)
        return self.head(x)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = Deep(save_memory=True).to(device)
        model = DDP(model, device_ids=[local_rank], find_unused_parameters=True)  # <- reentrant-checkpoint
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
