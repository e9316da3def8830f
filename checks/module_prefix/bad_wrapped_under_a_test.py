"""With several ranks the model is a wrapper, and the plain one that is tested cannot take its state."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(model, device, first, epochs, path):
    x = torch.randn(160, 5, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.cumsum(dim=1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=20, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(first, epochs):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()


def evaluate(path, device):
    model = nn.Linear(5, 5).to(device).eval()
    model.load_state_dict(torch.load(path, map_location=device))
    with torch.no_grad():
        return model(torch.ones(1, 5, device=device)).sum()


def run(device, path):
    model = nn.Linear(5, 5).to(device)
    if dist.get_world_size() > 1:
        model = DDP(model, device_ids=[device.index])
    train(model, device, 0, 3, path)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "final.pt")  # <- module-prefix
        print(evaluate("final.pt", device))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        run(device, "checkpoint.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
