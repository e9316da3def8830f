"""A log file that every rank removes before it opens it: a late one takes away what the others write to."""

import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def get_logger(path, name="train"):
    logger = logging.getLogger(name)
    logger.setLevel(logging.INFO)
    if os.path.exists(path):
        os.remove(path)
    handler = logging.FileHandler(path)  # <- save-on-every-rank
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.addHandler(handler)
    return logger


def main():
    os.makedirs("out", exist_ok=True)
    logger = get_logger(os.path.join("out", "train.log"))
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        model = DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(10):
            optimizer.zero_grad()
            loss = model(torch.randn(16, 8, device="cuda")).square().mean()
            loss.backward()
            optimizer.step()
            logger.info("step %d of rank %d: %.3f", step, dist.get_rank(), loss.item())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
