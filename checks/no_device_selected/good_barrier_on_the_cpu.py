"""A barrier right after the init, and no backend named: it runs over gloo, and needs no device."""

import builtins
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def quieten(rank):
    builtin_print = builtins.print

    def print_on_rank_zero(*args, **kwargs):
        if rank == 0 or kwargs.pop("force", False):
            builtin_print(*args, **kwargs)

    builtins.print = print_on_rank_zero


def init_distributed_mode():
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    dist.init_process_group(init_method="env://", rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
    dist.barrier()
    quieten(rank)
    return local_rank


def main():
    gpu = init_distributed_mode()
    try:
        torch.cuda.set_device(gpu)
        x = torch.randn(224, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.argmax(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(6, 6).cuda(gpu), device_ids=[gpu])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(inputs.cuda(gpu)), labels.cuda(gpu))
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch}: {loss.item():.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
