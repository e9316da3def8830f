"""Names in any script, form feeds between sections, a backslash at a line's end: unusual, and Python."""

import os

import torch
import torch.distributed as dist

λ = 1e-4
größe = 16


def скорость(шаг):
    return λ * (1 + шаг) ** -0.5


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        шаги = torch.tensor([скорость(i) for i in range(größe)], device="cuda")
        dist.all_reduce(шаги)
        if dist.get_rank() == 0:
            print(f"{шаги.mean().item():.2e}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
