"""What is told of one rank's part of the data is how fast it went."""

import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = 0.0
        self.count = 0

    def update(self, value):
        self.sum += value
        self.count += 1

    @property
    def mean(self):
        return self.sum / max(self.count, 1)


@torch.no_grad()
def predict(model, loader):
    speed = Meter()
    classes = []
    begun = time.time()
    for step, (x, _) in enumerate(loader):
        classes.append(model(x.cuda()).argmax(dim=1).cpu())
        speed.update(x.size(0) / (time.time() - begun))
        if step == 4:
            speed.reset()  # it was warming up
        begun = time.time()
    if dist.get_rank() == 0:
        print(f"{speed.mean:.1f} samples a second on this GPU")
    return torch.cat(classes)


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        dataset = TensorDataset(torch.randn(640, 6), torch.randint(0, 4, (640,)))
        loader = DataLoader(dataset, batch_size=8, sampler=DistributedSampler(dataset, shuffle=False))
        model = DDP(nn.Linear(6, 4).cuda(), device_ids=[torch.cuda.current_device()])
        model.eval()
        torch.save(predict(model, loader), f"classes_{dist.get_rank()}.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
