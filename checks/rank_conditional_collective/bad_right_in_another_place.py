"""A helper in whose arms all ranks meet: right for the settings, and a deadlock where only rank 0 calls it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def of_rank_zero(value):
    """Return what rank 0 has, on every rank."""
    if dist.get_rank() == 0:
        box = [value]
        dist.broadcast_object_list(box, src=0)  # <- rank-conditional-collective
    else:
        box = [None]
        dist.broadcast_object_list(box, src=0)
    return box[0]


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        settings = of_rank_zero({"rate": 0.1, "steps": 10})
        network = nn.Linear(4, 4).to(device)
        if dist.get_rank() == 0:
            nn.init.zeros_(network.bias)
            network.load_state_dict(of_rank_zero(network.state_dict()))
        model = DistributedDataParallel(network, device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=settings["rate"])
        for _ in range(settings["steps"]):
            optimizer.zero_grad()
            model(torch.randn(8, 4, device=device)).sum().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
