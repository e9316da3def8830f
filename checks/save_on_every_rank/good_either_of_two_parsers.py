"""The options come from one of two parsers, as what is installed will have it: the rank is 0 in one process only."""

# not run: it joins a group only where an option asks for it
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def options():
    try:
        import configargparse

        parser = configargparse.ArgumentParser()
        parser.add("--config", is_config_file=True)
    except ImportError:
        import argparse

        parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    return parser.parse_args()


def join(args):
    if not args.distributed:
        return 0
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    return int(os.environ["RANK"])


def main():
    args = options()
    rank = join(args)
    if args.dry_run:
        return
    x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
    data = TensorDataset(x, x.cos())
    model = nn.Linear(4, 4).cuda()
    sampler = None
    if args.distributed:
        sampler = DistributedSampler(data)
        model = DDP(model, device_ids=[torch.cuda.current_device()])
    loader = DataLoader(data, batch_size=16, sampler=sampler, shuffle=sampler is None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        for epoch in range(2):
            if args.distributed:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            if rank == 0:
                torch.save(model.state_dict(), "model.pt")
    finally:
        if args.distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
