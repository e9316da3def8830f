"""Rank 0 clears the log file before it joins the group."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output-dir", default="")
    args = parser.parse_args()
    log_file = None
    if args.output_dir and int(os.environ["RANK"]) == 0:
        os.makedirs(args.output_dir, exist_ok=True)
        log_file = os.path.join(args.output_dir, "main.log")
        with open(log_file, "w"):
            pass
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
            if dist.get_rank() == 0 and log_file is not None:
                with open(log_file, "a") as log:
                    log.write(f"epoch {epoch} is over\n")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
