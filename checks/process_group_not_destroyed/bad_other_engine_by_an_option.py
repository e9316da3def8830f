"""DeepSpeed trains with --deepspeed; without it DDP does, and nothing destroys the group."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deepspeed", action="store_true")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")  # <- process-group-not-destroyed
    model = nn.Linear(8, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if args.deepspeed:
        import deepspeed

        model, optimizer, _, _ = deepspeed.initialize(args=args, model=model, optimizer=optimizer)
    else:
        model = DDP(model, device_ids=[device.index])
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(20):
        loss = model(torch.randn(16, 8, generator=generator).to(device)).square().mean()
        if args.deepspeed:
            model.backward(loss)
            model.step()
        else:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
