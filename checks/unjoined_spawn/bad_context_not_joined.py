"""The spawn context is kept for its process ids and never joined; what the ranks wrote is read at once."""

import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(rank, args):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=args.url, rank=rank, world_size=args.gpus)
    try:
        x = torch.rand(128, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(4, 1).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(inputs.to(rank)), targets.to(rank))
                loss.backward()
                optimizer.step()
        dist.all_reduce(loss.detach(), dist.ReduceOp.AVG)
        if rank == 0:
            with open(args.report, "w") as file:
                json.dump({"loss": loss.item()}, file)
    finally:
        dist.destroy_process_group()


def launch(args):
    context = mp.spawn(train, args=(args,), nprocs=args.gpus, join=False)  # <- unjoined-spawn
    print("started", ", ".join(str(pid) for pid in context.pids()))
    return context


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    parser.add_argument("--url", default="tcp://127.0.0.1:29602")
    parser.add_argument("--report", default="report.json")
    options = parser.parse_args()
    launch(options)
    if os.path.exists(options.report):
        print(open(options.report).read())
