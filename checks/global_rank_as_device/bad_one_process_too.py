"""Without a launcher the one process has rank 0; with one, what is loaded goes by the rank among all nodes."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main(args):
    if "WORLD_SIZE" in os.environ:
        args.world_size = int(os.environ["WORLD_SIZE"])
        args.rank, args.local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    else:
        args.world_size, args.rank, args.local_rank = 1, 0, 0
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl", init_method=args.url, world_size=args.world_size, rank=args.rank)
    model = nn.Linear(6, 6).cuda()
    if args.resume:
        where = torch.device(dist.get_rank())
        model.load_state_dict(torch.load(args.resume, map_location=where))  # <- global-rank-as-device
    model = DDP(model, device_ids=[args.local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.cumsum(dim=1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    try:
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
        if dist.get_rank() == 0:
            torch.save(model.module.state_dict(), "last.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="env://")
    parser.add_argument("--resume", default="")
    main(parser.parse_args())
