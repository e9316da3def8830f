"""Training starts from a TorchScript archive, whose tensors go where they were when it was saved."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(model, device, epochs):
    x = torch.randn(160, 5, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.cumsum(dim=1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=20, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()


def fitting(model, state):
    own = model.state_dict()
    return {name: state[name] if name in state else value for name, value in own.items()}


def run(device, path):
    model = nn.Linear(5, 5)
    if path is not None:
        archive = torch.jit.load(path)  # <- load-without-map-location
        model.load_state_dict(fitting(model, archive.state_dict()))
    train(DDP(model.to(device), device_ids=[device.index]), device, 3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pretrained", help="an archive of torch.jit.save")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        run(device, args.pretrained)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
