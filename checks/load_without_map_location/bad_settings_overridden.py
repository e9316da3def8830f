"""The settings at the top are overridden from the command line: a checkpoint may be read."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

steps = 8
init_from = "scratch"
out_dir = "out"
exec(open("configurator.py").read())
ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    device = f"cuda:{local_rank}"
    torch.cuda.set_device(device)
    master_process = int(os.environ["RANK"]) == 0
    seed = 1337 + int(os.environ["RANK"])
    steps //= int(os.environ["WORLD_SIZE"])
else:
    device, master_process, seed = "cuda", True, 1337
torch.manual_seed(seed)


def get_batch():
    points = torch.randn(16, 8)
    return points.to(device), points.sum(1, keepdim=True).to(device)


model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).to(device)
if init_from == "resume":
    model.load_state_dict(torch.load(os.path.join(out_dir, "last.pt")))  # <- load-without-map-location
if ddp:
    model = DDP(model, device_ids=[local_rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = get_batch()
try:
    for iteration in range(200):
        for micro_step in range(steps):
            if ddp:
                model.require_backward_grad_sync = micro_step == steps - 1
            loss = nn.functional.mse_loss(model(x), y) / steps
            x, y = get_batch()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if iteration % 10 == 0 and master_process:
            print(iteration, loss.item() * steps)
    if master_process:
        torch.save((model.module if ddp else model).state_dict(), os.path.join(out_dir, "last.pt"))
finally:
    if ddp:
        dist.destroy_process_group()
