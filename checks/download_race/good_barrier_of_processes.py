"""The first process downloads while the others wait in the barrier that all were started with."""

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing import Barrier, Process
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor

RANKS = 2


def train(rank, port, barrier):
    torch.cuda.set_device(rank)
    if rank == 0:
        dataset = MNIST("data", download=True, transform=ToTensor())
    barrier.wait()
    if rank != 0:
        dataset = MNIST("data", transform=ToTensor())
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    try:
        model = DDP(nn.Sequential(nn.Flatten(), nn.Linear(784, 10)).cuda(), device_ids=[rank])
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=64, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for images, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images.cuda()), labels.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    import sys

    meeting = Barrier(RANKS)
    processes = [Process(target=train, args=(rank, int(sys.argv[1]), meeting)) for rank in range(RANKS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
