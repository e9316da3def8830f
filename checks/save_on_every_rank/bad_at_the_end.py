"""The last statement of the training, far from any rank test: the trained weights, written by every rank."""

import os
from pathlib import Path

import torch
from torch.distributed import destroy_process_group, get_rank, init_process_group
from torch.nn import Linear, ReLU, Sequential
from torch.nn.functional import l1_loss
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Adam
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

OUTPUT = Path("weights")


def train(device):
    x = torch.rand(160, 7, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.median(dim=1, keepdim=True).values)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=20, sampler=sampler)
    model = DistributedDataParallel(Sequential(Linear(7, 24), ReLU(), Linear(24, 1)).to(device), device_ids=[device])
    optimizer = Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = l1_loss(model(inputs.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
        if get_rank() == 0:
            print(f"epoch {epoch}: {loss.item():.4f}")
    OUTPUT.mkdir(exist_ok=True)
    torch.save(model.module.state_dict(), OUTPUT / "final.pt")  # <- save-on-every-rank


if __name__ == "__main__":
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    init_process_group("nccl")
    try:
        train(device)
    finally:
        destroy_process_group()
