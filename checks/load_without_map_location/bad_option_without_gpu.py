"""Only the way that names a GPU maps the checkpoint; torchrun takes the other."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(model, device, first, epochs, path):
    x = torch.randn(160, 5, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.cumsum(dim=1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=20, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(first, epochs):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, path)


def resume(args, model):
    if args.gpu is None:
        checkpoint = torch.load(args.resume)  # <- load-without-map-location
    else:
        checkpoint = torch.load(args.resume, map_location=f"cuda:{args.gpu}")
    model.load_state_dict(checkpoint["model"])
    return checkpoint["epoch"] + 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="", help="checkpoint to go on from")
    parser.add_argument("--gpu", type=int, default=None)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        model = nn.Linear(5, 5).cuda()
        first = resume(args, model) if args.resume else 0
        train(DDP(model, device_ids=[local_rank]), local_rank, first, 3, "last.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
