"""The test by which processes are started compares an option with 1, and the one by which one saves asks if it is."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def worker(gpu, per_node, args):
    rank = args.node * per_node + gpu
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl", rank=rank, world_size=args.nodes * per_node)
    try:
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        sampler = DistributedSampler(TensorDataset(x, x.cos()))
        loader = DataLoader(sampler.dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(4, 4).cuda(gpu), device_ids=[gpu])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda(gpu)), targets.cuda(gpu)).backward()
                optimizer.step()
            if not args.spawn or (args.spawn and rank % per_node == 0):
                torch.save(model.module.state_dict(), "model.pt")
    finally:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--node", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--spawn", type=int, default=1, help="one process for each GPU")
    args = parser.parse_args()
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29633")
    per_node = torch.cuda.device_count()
    if args.spawn == 1:
        mp.spawn(worker, args=(per_node, args), nprocs=per_node)
    else:
        worker(0, 1, args)


if __name__ == "__main__":
    main()
