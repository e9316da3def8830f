"""The rank is put together from the node and the index on it; the GPU is the index."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def worker(gpu, args):
    args.rank = args.rank * args.gpus + gpu
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl", init_method=args.url, rank=args.rank, world_size=args.world_size)
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cumsum(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(6, 6).to(gpu), device_ids=[gpu])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(gpu)), targets.to(gpu)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="tcp://127.0.0.1:23456")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world-size", type=int, default=8)
    parser.add_argument("--gpus", type=int, default=8)
    args = parser.parse_args()
    mp.spawn(worker, nprocs=args.gpus, args=(args,))
