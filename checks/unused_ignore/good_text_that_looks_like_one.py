"""The words of an ignore inside strings are no ignore: ``# ddpdoctor: ignore[hang]`` is documentation here."""

import os

import torch
import torch.distributed as dist

HELP = "write '# ddpdoctor: ignore[save-on-every-rank]' on the line of the save"


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        total = torch.ones(1, device="cuda")
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(HELP, "for", int(total.item()), "ranks")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
