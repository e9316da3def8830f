"""Rank 0 alone writes the pictures of its batches."""
# not run: a run records what is saved, and not whatever else is written into files

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from torchvision.utils import save_image



def validate(model, loader, epoch):
    model.eval()
    with torch.no_grad():
        for number, (images,) in enumerate(loader):
            guess = model(images.cuda()).cpu()
            if dist.get_rank() == 0:
                save_image(torch.cat((guess, images)), f"pictures/{number}_{epoch}.png")
    model.train()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    os.makedirs("pictures", exist_ok=True)
    dataset = TensorDataset(torch.rand(64, 3, 8, 8))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    model = DDP(nn.Conv2d(3, 3, 3, padding=1).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    try:
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for (images,) in loader:
                optimizer.zero_grad()
                (model(images.cuda()) - images.cuda()).square().mean().backward()
                optimizer.step()
            validate(model, loader, epoch)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
