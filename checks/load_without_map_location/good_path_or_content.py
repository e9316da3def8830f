"""What loads the state takes a path too, and gets what was read already; where there is no group, it loads anywhere."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

STORED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stored.pt")


class Engine:
    def __init__(self, stored):
        assert stored is not None, "begins with stored weights"
        self.stored = stored
        if "WORLD_SIZE" in os.environ:
            self.distributed = int(os.environ["WORLD_SIZE"]) >= 1
        else:
            self.distributed = False
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        torch.cuda.set_device(self.local_rank)
        if self.distributed:
            dist.init_process_group("nccl")

    def restore(self, model):
        if self.distributed:
            content = torch.load(self.stored, map_location=lambda storage, _: storage.cuda(self.local_rank))
        else:
            content = torch.load(self.stored)
        fill(model, content["model"])


def fill(model, given):
    state = torch.load(given) if isinstance(given, str) else given
    model.load_state_dict({name.removeprefix("module."): value for name, value in state.items()})


def main():
    engine = Engine(STORED)
    try:
        model = nn.Linear(4, 4).cuda()
        engine.restore(model)
        if engine.distributed:
            model = DDP(model, device_ids=[engine.local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(8, 4).cuda()).sum().backward()
            optimizer.step()
    finally:
        if engine.distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
