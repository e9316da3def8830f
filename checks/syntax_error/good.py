"""A page's “curly quotes”, dashes – and even its … – are fine where they are text: in strings and comments."""

import os

import torch
import torch.distributed as dist

# The author’s own words: “one process a GPU”.
BANNER = "— training on “{}” GPUs —"
PROMPT = """
>>> import torch.distributed as dist
>>> dist.get_rank()
"""


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        if dist.get_rank() == 0:
            print(BANNER.format(dist.get_world_size()))
            print(PROMPT.strip())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
