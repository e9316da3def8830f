"""A helper gathers tensors and other things in two ways; rank 0 alone makes the value, of the same type as the rest."""

import tempfile

import torch
import torch.distributed as dist


def gather(value):
    if isinstance(value, torch.Tensor):
        parts = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, value)
        return parts
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, value)
    return parts


def main():
    dist.init_process_group("gloo")
    try:
        folder = ""
        if dist.get_rank() == 0:
            folder = tempfile.mkdtemp(prefix="run")
        folder = gather(folder)[0]
        print(dist.get_rank(), folder)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
