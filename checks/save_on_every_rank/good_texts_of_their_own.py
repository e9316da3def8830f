"""Texts beside checkpoints: the same on all ranks, by the first rank, under a rank's own name, or added to a log."""

import argparse
import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def write_options(options, path):
    if dist.get_rank() != 0:
        return
    with open(path, "w") as file:
        json.dump(vars(options), file)


class Log:
    def __init__(self, path):
        self.file = open(path, "a")

    def __call__(self, line):
        self.file.write(line + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--dump-errors", action="store_true")
    options = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        log = Log("training.log")
        with open("started.json", "w") as file:
            json.dump({"ranks": dist.get_world_size(), "options": vars(options)}, file)
        write_options(options, "options.json")
        x = torch.rand(120, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DistributedDataParallel(nn.Linear(3, 1).to(device), device_ids=[device])
        optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)
        steps = 0
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
                steps += 1
        error = sum((model(x.to(device)) - y.to(device)).abs().mean().item() for x, y in loader) / len(loader)
        log(f"{steps} steps, rank {dist.get_rank()}: {error}")
        if options.dump_errors:
            with open("errors.txt", "w") as file:
                file.write(str(error))
        with open(f"steps_{dist.get_rank()}.json", "w") as file:
            json.dump({"steps": steps, "error": error}, file)
        with open(os.devnull, "w") as nothing:
            print("done", file=nothing)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
