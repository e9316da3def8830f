"""torch is imported by then, but nothing has asked CUDA for anything: importing it does not initialise CUDA."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def worker(rank, world_size, url):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=url, rank=rank, world_size=world_size)
    try:
        x = torch.randn(128, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sinh())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(4, 4).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", default="0,1")
    parser.add_argument("--url", default="tcp://127.0.0.1:29593")
    args = parser.parse_args()
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpus
    world_size = torch.cuda.device_count()
    print("training on", world_size, "GPUs of", args.gpus)
    mp.spawn(worker, args=(world_size, args.url), nprocs=world_size)


if __name__ == "__main__":
    main()
