"""Whether the ranks are daemons is an option; joined they are in neither case."""

# also: hard-coded-port
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


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
    parser = argparse.ArgumentParser()
    parser.add_argument("--daemon", action="store_true")
    daemon = True if parser.parse_args().daemon else False
    mp.spawn(worker, args=(n,), nprocs=n, join=False, daemon=daemon)  # <- unjoined-spawn


if __name__ == "__main__":
    main()
