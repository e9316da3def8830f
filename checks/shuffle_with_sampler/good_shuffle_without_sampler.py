"""One script for one GPU and for many: shuffle=(sampler is None)."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train(gpu, args):
    torch.cuda.set_device(gpu)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2)).cuda(gpu)
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(256, 10, generator=generator)
    dataset = TensorDataset(features, (features.sum(dim=1) > 0).long())
    if args.distributed:
        dist.init_process_group("nccl", init_method=args.dist_url, world_size=args.gpus, rank=gpu)
    try:
        if args.distributed:
            model = DDP(model, device_ids=[gpu])
            train_sampler = DistributedSampler(dataset)
        else:
            train_sampler = None
        loader = DataLoader(dataset, batch_size=32, shuffle=(train_sampler is None), sampler=train_sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(args.epochs):
            if args.distributed:
                train_sampler.set_epoch(epoch)
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x.cuda(gpu)), y.cuda(gpu))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        if args.distributed:
            dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", default=torch.cuda.device_count(), type=int)
    parser.add_argument("--epochs", default=2, type=int)
    parser.add_argument("--dist-url", default="tcp://127.0.0.1:29512")
    args = parser.parse_args()
    args.distributed = args.gpus > 1
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    if args.distributed:
        mp.spawn(train, nprocs=args.gpus, args=(args,))
    else:
        train(0, args)


if __name__ == "__main__":
    main()
