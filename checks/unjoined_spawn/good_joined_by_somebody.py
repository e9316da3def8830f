"""The contexts lie in lists, or go to code that is not read: whoever has them may join them."""

# also: hard-coded-port
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def worker(rank, world_size):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29611", rank=rank, world_size=world_size)
    try:
        model = DistributedDataParallel(torch.nn.Linear(8, 1).to(rank), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.randn(4, 8, device=rank)).sum().backward()
        optimizer.step()
    finally:
        dist.destroy_process_group()


def babysit(context):
    while not context.join(timeout=5):
        print("they still train")


def main():
    n = torch.cuda.device_count()
    contexts = {"train": [mp.spawn(worker, args=(n,), nprocs=n, join=False)]}
    for started in contexts.values():
        for context in started:
            while not context.join(timeout=5):
                print("they train")
    with ThreadPoolExecutor() as pool:
        pool.submit(babysit, mp.spawn(worker, args=(n,), nprocs=n, join=False))


if __name__ == "__main__":
    main()
