"""Whether to save is worked out once, of where to write to and of the rank, and kept among the options."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def is_master(args):
    return args.rank == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", default="./logs")
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    args.rank = dist.get_rank()
    args.should_save = (args.logs is not None and args.logs != "" and args.logs.lower() != "none") and is_master(args)
    try:
        data = TensorDataset(torch.randn(128, 4, generator=torch.Generator().manual_seed(0)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(4, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (inputs,) in loader:
                optimizer.zero_grad()
                model(inputs.cuda()).square().mean().backward()
                optimizer.step()
            if args.should_save and epoch > 0:
                torch.save(model.module.state_dict(), os.path.join(args.logs, "latest.pt"))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
