"""Who asks for the signal gets rank 0's answer; where there is no group, the process has only itself to ask."""

import os
import signal

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Termination:
    def __init__(self, number=signal.SIGTERM):
        self.number = number
        self.device = torch.device("cuda")

    def __enter__(self):
        self._received = False
        self.before = signal.getsignal(self.number)

        def note(number, frame):
            self._received = True

        def ignore(number, frame):
            print("the first rank decides")

        rank = dist.get_rank() if dist.is_initialized() else 0
        if rank == 0:
            signal.signal(self.number, note)
        else:
            signal.signal(self.number, ignore)
        return self

    def __exit__(self, kind, error, trace):
        signal.signal(self.number, self.before)

    @property
    def received(self):
        if not dist.is_initialized():
            return self._received
        received = torch.tensor(self._received).int().to(self.device)
        dist.broadcast(received, 0)
        return bool(received.item())


def train(model, loader, optimizer, termination):
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
        if (step + 1) % 20 == 0 and termination.received:
            return True
    return False


def main():
    distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
    if distributed:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
    try:
        dataset = TensorDataset(torch.randn(640, 6), torch.randint(0, 4, (640,)))
        sampler = DistributedSampler(dataset) if distributed else None
        loader = DataLoader(dataset, batch_size=8, sampler=sampler, shuffle=sampler is None)
        model = nn.Linear(6, 4).cuda()
        if distributed:
            model = DDP(model, device_ids=[torch.cuda.current_device()])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        with Termination() as termination:
            for epoch in range(4):
                if sampler is not None:
                    sampler.set_epoch(epoch)
                if train(model, loader, optimizer, termination):
                    break
    finally:
        if distributed:
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
