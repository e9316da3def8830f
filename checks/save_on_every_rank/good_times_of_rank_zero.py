"""What the clock of rank 0 said of the run, and what is the same on all ranks, in files of their own."""

import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

NAME = "times.json"


def keep(folder, measured):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, NAME), "w") as file:
        json.dump(measured, file, indent=2)


def summed_up(measured, folder):
    total = {
        "steps": measured.get("steps", 0),
        "seconds": measured.get("before", 0) + measured.get("seconds", 0),
    }
    keep(folder, total)


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        measured = {"steps": 0, "seconds": 0, "before": 0}
        x = torch.rand(192, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.prod(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        model = DistributedDataParallel(nn.Linear(6, 1).cuda(), device_ids=[torch.cuda.current_device()])
        optimizer = torch.optim.Adam(model.parameters())
        began = time.time()
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
                measured["steps"] += 1
        measured["seconds"] = time.time() - began
        if dist.get_rank() == 0:
            summed_up(measured, "state")
        with open("steps.json", "w") as file:
            json.dump({"steps": measured["steps"], "batch": 24}, file)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
