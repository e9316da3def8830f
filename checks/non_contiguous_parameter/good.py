"""The transposed weight is copied into a row-major parameter when the model is built."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def autoencoder(width=24, code=6):
    encoder, decoder = nn.Linear(width, code), nn.Linear(code, width)
    with torch.no_grad():
        decoder.weight.copy_(encoder.weight.t())
    return nn.Sequential(encoder, nn.Tanh(), decoder)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = TensorDataset(torch.randn(128, 24, generator=torch.Generator().manual_seed(0)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(autoencoder().to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (batch,) in loader:
                batch = batch.to(device)
                optimizer.zero_grad()
                nn.functional.mse_loss(model(batch), batch).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
