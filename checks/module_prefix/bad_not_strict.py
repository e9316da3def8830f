"""With strict=False nothing of the wrapper's state is loaded, and nothing is said."""

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


class Checkpoints:
    def __init__(self, folder):
        self.file = os.path.join(folder, "model.pt")

    def save(self, model):
        if dist.get_rank() == 0:
            torch.save({"weights": model.state_dict()}, self.file)  # <- module-prefix

    def load(self, model):
        weights = torch.load(self.file, map_location="cpu").get("weights")
        model.load_state_dict(weights, strict=False)


def run(device, path):
    checkpoints = Checkpoints(".")
    model = DDP(nn.Linear(5, 5).to(device), device_ids=[device.index])
    train(model, device, 0, 3, path)
    checkpoints.save(model)
    dist.barrier()
    best = nn.Linear(5, 5).to(device)
    checkpoints.load(best)


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
