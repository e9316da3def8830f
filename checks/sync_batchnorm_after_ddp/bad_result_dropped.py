"""Each BatchNorm layer is converted by itself and the result is dropped: nothing in the model has changed.

# also: unconverted-batchnorm
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 24)
        self.norm = nn.BatchNorm1d(24)
        self.out = nn.Linear(24, 6)

    def forward(self, x):
        return self.out(torch.relu(self.norm(self.linear(x))))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(256, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)
        encoder = Encoder().to(device)
        nn.SyncBatchNorm.convert_sync_batchnorm(encoder.norm)  # <- sync-batchnorm-after-ddp
        model = DDP(encoder, device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
