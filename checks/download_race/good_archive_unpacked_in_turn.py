"""The first rank of each node unpacks the archive; the others meet it in a barrier and find the folder."""

import os
import tarfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Samples(Dataset):
    def __init__(self, root):
        self.folder = os.path.join(root, "samples")
        if not os.path.isdir(self.folder):
            with tarfile.open(os.path.join(root, "samples.tar.gz")) as archive:
                archive.extractall(root)
        self.names = sorted(os.listdir(self.folder))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return torch.load(os.path.join(self.folder, self.names[index]))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    if local_rank != 0:
        dist.barrier()
    dataset = Samples("data")
    if local_rank == 0:
        dist.barrier()
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    try:
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for samples in loader:
                optimizer.zero_grad()
                model(samples.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
