"""When the training is over rank 0 asks a server what it saw, and keeps the answer."""
# not run: it asks a server

import os

import requests
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset



def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    sampler = DistributedSampler(dataset := TensorDataset(torch.randn(256, 8)))
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    try:
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for (inputs,) in loader:
                optimizer.zero_grad()
                model(inputs.cuda()).square().mean().backward()
                optimizer.step()
        if dist.get_rank() == 0:
            answer = requests.get("http://monitor:9090/api/v1/query?query=cpu", timeout=10)
            if answer.ok:
                os.makedirs("results", exist_ok=True)
                with open(os.path.join("results", "cpu.json"), "wb") as file:
                    file.write(answer.content)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
