"""Every few steps rank 0 alone calls the wrapper, without gradients; the network holds a buffer."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.ones(4))
        self.out = nn.Linear(4, 1)

    def forward(self, inputs):
        return self.out(inputs + self.shift)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    first = dist.get_rank() == 0
    try:
        model = DistributedDataParallel(Shifted().to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        step = 0
        while True:
            if step % 5 == 4 and first:
                with torch.no_grad():
                    print(model(torch.ones(1, 4, device=device)))  # <- rank0-ddp-forward
            optimizer.zero_grad()
            model(torch.randn(8, 4, device=device)).sum().backward()
            optimizer.step()
            step += 1
            if step > 20:
                break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
