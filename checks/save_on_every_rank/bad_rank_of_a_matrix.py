"""The rank in the name is that of the LoRA matrices: every process writes the same file."""

import argparse
import os

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, help="the dimension of the LoRA update matrices")
    args = parser.parse_args(["--rank", "4"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        state = {"process": dist.get_rank()}
        torch.save(state, f"lora-{args.rank}.pt")  # <- save-on-every-rank
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
