"""A check of the set-up, run by the main process only, averages over all processes two calls down."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def is_main_process():
    return not dist.is_initialized() or dist.get_rank() == 0


def mean_over_ranks(tensor):
    if dist.get_world_size() == 1:
        return tensor
    tensor = tensor.clone()
    dist.all_reduce(tensor)  # <- rank-conditional-collective
    return tensor / dist.get_world_size()


def replicas_agree(model):
    own = torch.stack([p.detach().double().sum() for p in model.parameters()]).sum()
    return torch.allclose(mean_over_ranks(own), own)


def worker(rank, args):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=args.url, rank=rank, world_size=args.gpus)
    try:
        model = DDP(nn.Linear(8, 8).to(rank), device_ids=[rank])
        if is_main_process():
            assert replicas_agree(model), "the ranks started with different weights"
        x = torch.randn(128, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.cummin(dim=1).values)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        dist.barrier()
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
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    parser.add_argument("--url", default="tcp://127.0.0.1:29641")
    options = parser.parse_args()
    mp.spawn(worker, args=(options,), nprocs=options.gpus)
