"""Processes that are started and not joined: multiprocessing itself waits for those that are no daemons."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main_on(rank, gpus, url):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=url, rank=rank, world_size=gpus)
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.tanh())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(6, 6), nn.Tanh()).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=torch.cuda.device_count())
    parser.add_argument("--url", default="tcp://127.0.0.1:29608")
    args = parser.parse_args()
    mp.set_start_method("spawn")
    for rank in range(args.devices):
        mp.Process(target=main_on, args=(rank, args.devices, args.url)).start()
