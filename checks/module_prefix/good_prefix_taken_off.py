"""Whoever loads the wrapper's state into a plain model takes the prefix off."""

import os
from collections import OrderedDict

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present
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
        if dist.get_rank() == 0:
            torch.save({"model": model.state_dict(), "epoch": epoch}, path)


def by_a_loop(path):
    state = torch.load(path, map_location="cpu")["model"]
    plain = OrderedDict()
    for name, value in state.items():
        plain[name[7:] if name.startswith("module.") else name] = value
    model = nn.Linear(5, 5)
    model.load_state_dict(plain)
    return model


def by_a_comprehension(path):
    state = torch.load(path, map_location="cpu")["model"]
    model = nn.Linear(5, 5)
    model.load_state_dict({name.removeprefix("module."): value for name, value in state.items()})
    return model


def in_place(path):
    state = torch.load(path, map_location="cpu")["model"]
    for name in list(state):
        state[name.replace("module.", "")] = state.pop(name)
    model = nn.Linear(5, 5)
    model.load_state_dict(state)
    return model


def by_torch(path):
    state = torch.load(path, map_location="cpu")["model"]
    consume_prefix_in_state_dict_if_present(state, "module.")
    model = nn.Linear(5, 5)
    model.load_state_dict(state)
    return model


def run(device, path):
    train(DDP(nn.Linear(5, 5).to(device), device_ids=[device.index]), device, 0, 3, path)
    dist.barrier()
    for way in (by_a_loop, by_a_comprehension, in_place, by_torch):
        print(way(path).weight.sum())


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
