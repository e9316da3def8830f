"""A batch sampler of the script's own over one of two samplers: the distributed one where there are several ranks."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, TensorDataset


class Endless(BatchSampler):
    """The batches of another batch sampler, over and over."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        while True:
            yield from self.batches


def loader_of(dataset, distributed):
    if distributed:
        sampler = DistributedSampler(dataset)
    else:
        sampler = RandomSampler(dataset)
    return DataLoader(dataset, batch_sampler=Endless(BatchSampler(sampler, 8, drop_last=False)))


def main():
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        model = DistributedDataParallel(nn.Linear(4, 1).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = loader_of(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), world_size > 1)
        for step, (inputs, targets) in enumerate(loader):
            if step == 20:
                break
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
