"""The model is put on the CPU before its state is saved: every rank loads it there."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = DistributedDataParallel(nn.Linear(4, 4).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(8, 4, device=device)).sum().backward()
            optimizer.step()
        model.cpu()
        if dist.get_rank() == 0:
            torch.save(model.module.state_dict(), "final.pt")
        dist.barrier()
        network = nn.Linear(4, 4)
        network.load_state_dict(torch.load("final.pt"))
        network.to(device).eval()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
