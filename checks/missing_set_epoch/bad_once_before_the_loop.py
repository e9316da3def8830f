"""set_epoch is called once, when the loader is made, and never again."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@contextmanager
def on_gpu():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        yield device
    finally:
        dist.destroy_process_group()


def get_loader(start_epoch, batch_size=16):
    codes = torch.randint(0, 2, (288, 20), generator=torch.Generator().manual_seed(9)).float()
    dataset = TensorDataset(codes)
    sampler = DistributedSampler(dataset, seed=42)
    sampler.set_epoch(start_epoch)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler, drop_last=True)


class Denoiser(nn.Module):
    def __init__(self, width=20, hidden=32):
        super().__init__()
        self.encode = nn.Linear(width, hidden)
        self.decode = nn.Linear(hidden, width)

    def forward(self, codes):
        keep = (torch.arange(codes.shape[1], device=codes.device) % 3 > 0).float()
        return self.decode(torch.relu(self.encode(codes * keep)))


with on_gpu() as device:
    loader = get_loader(start_epoch=0)
    model = DDP(Denoiser().to(device), device_ids=[device.index])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        for (codes,) in loader:  # <- missing-set-epoch
            codes = codes.to(device)
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(model(codes), codes).backward()
            optimizer.step()
