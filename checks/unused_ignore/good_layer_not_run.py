"""The ignore is for a check that only a run of the model can answer: without one it is neither used nor unused."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Mixer(nn.Module):
    def __init__(self, groups=4, width=8):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(groups, width, width) / width**0.5)
        self.head = nn.Linear(groups * width, 2)

    def forward(self, x):
        return self.head(torch.einsum("bgi,goi->bgo", x, self.weight).flatten(1))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(96, 4, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.mean(dim=(1, 2)).gt(0).long())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(Mixer().to(device), device_ids=[device.index])  # ddpdoctor: ignore[silent-gradient-copy]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
