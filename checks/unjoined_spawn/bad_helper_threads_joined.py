"""What is joined are the threads of a helper, not the ranks."""

# also: hard-coded-port
import queue
import threading

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def fetch(jobs):
    while not jobs.empty():
        jobs.get()


def helpers(jobs, kind=threading.Thread):
    return [kind(target=fetch, args=(jobs,)) for _ in range(2)]


def worker(rank, world_size):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29611", rank=rank, world_size=world_size)
    try:
        value = torch.ones(1, device="cuda")
        dist.all_reduce(value)
    finally:
        dist.destroy_process_group()


def main():
    n = torch.cuda.device_count()
    mp.spawn(worker, args=(n,), nprocs=n, join=False)  # <- unjoined-spawn
    threads = helpers(queue.Queue())
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
