"""One function is the command and the rank: ``gpu`` is what the group is told is the rank, and unset in the parent."""
# not run: it wants fire, and several GPUs

import os

import fire
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main(run_path="run", steps=4, gpu=None, gpus=None):
    if gpus is None:
        gpus = torch.cuda.device_count()
        if gpus > 1:
            mp.spawn(start, ({"run_path": run_path, "steps": steps, "gpus": gpus},), gpus)
            return
    is_main = gpu in {0, None}
    world_size = max(1, gpus)
    device = torch.device("cuda", index=gpu or 0)
    torch.cuda.set_device(device)
    model = nn.Linear(8, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    if gpu is not None:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29500")
        dist.init_process_group("nccl", rank=gpu, world_size=world_size)
        model = DDP(model, device_ids=[gpu])

    def save():
        if is_main:
            torch.save(model.state_dict(), os.path.join(run_path, "model.pt"))

    def validate():
        if world_size != 1:
            return
        with torch.no_grad():
            print(model(torch.ones(1, 8, device=device)).item())

    try:
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.randn(16, 8, device=device)).square().mean().backward()
            optimizer.step()
            if is_main:
                validate()
        save()
    finally:
        if gpu is not None:
            dist.destroy_process_group()


def start(i, options):
    options["gpu"] = i
    return main(**options)


if __name__ == "__main__":
    fire.Fire(main)
