"""Loader options from one dictionary; the sampler is added to them for several GPUs and the shuffling stays on."""

import argparse
import os

import torch
import torch.multiprocessing as mp
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def build_loader(dataset, args, rank):
    options = {"batch_size": args.batch_size, "drop_last": True, "shuffle": True}
    if args.gpus > 1:
        options["sampler"] = DistributedSampler(dataset, num_replicas=args.gpus, rank=rank)
    return DataLoader(dataset, **options)  # <- shuffle-with-sampler


def worker(rank, args):
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", init_method=args.url, world_size=args.gpus, rank=rank)
    try:
        tokens = torch.randint(0, 64, (320, 16), generator=torch.Generator().manual_seed(1))
        loader = build_loader(TensorDataset(tokens[:, :-1], tokens[:, -1]), args, rank)
        net = nn.Sequential(nn.Embedding(64, 24), nn.Flatten(), nn.Linear(15 * 24, 64)).to(rank)
        net = DistributedDataParallel(net, device_ids=[rank])
        adam = torch.optim.Adam(net.parameters())
        for epoch in range(args.epochs):
            if args.gpus > 1:
                loader.sampler.set_epoch(epoch)
            for context, following in loader:
                loss = nn.functional.cross_entropy(net(context.to(rank)), following.to(rank))
                adam.zero_grad()
                loss.backward()
                adam.step()
    finally:
        distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--url", default="tcp://127.0.0.1:29511")
    args = parser.parse_args()
    os.environ.setdefault("NCCL_DEBUG", "WARN")
    mp.spawn(worker, nprocs=args.gpus, args=(args,))


if __name__ == "__main__":
    main()
