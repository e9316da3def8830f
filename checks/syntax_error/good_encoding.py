# -*- coding: latin-1 -*-
"""An old file in an encoding of its own, which its first line names: Größe, déjà vu."""

import os

import torch
import torch.distributed as dist

GREETING = "Grüße von Rang {}"


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        print(GREETING.format(dist.get_rank()))
        dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
