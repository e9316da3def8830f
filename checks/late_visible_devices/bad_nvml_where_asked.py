"""Only an option makes the first question harmless; another CUDA call is none in any case."""

import argparse
import os

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvml", action="store_true")
    args = parser.parse_args()
    if args.nvml:
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    if torch.cuda.is_available():
        os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]  # <- late-visible-devices
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    try:
        dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
