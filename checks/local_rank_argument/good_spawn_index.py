"""``args.local_rank`` is no option: the worker fills it in from the index that mp.spawn passes."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def worker(index, args):
    args.local_rank = index
    args.rank = args.node_rank * args.gpus + index
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl", init_method=args.url, rank=args.rank, world_size=args.nodes * args.gpus)
    try:
        x = torch.randn(160, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cross(x.roll(1, 0), dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Linear(3, 3).cuda(), device_ids=[args.local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--node_rank", type=int, default=0)
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    parser.add_argument("--url", default="tcp://127.0.0.1:29581")
    options = parser.parse_args()
    mp.spawn(worker, args=(options,), nprocs=options.gpus)
