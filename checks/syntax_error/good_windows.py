"""Saved by an editor on Windows: a byte order mark at the start, and its own line ends."""

import os

import torch
import torch.distributed as dist


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        total = torch.ones(1, device="cuda")
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(f"{total.item():.0f} ranks")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
