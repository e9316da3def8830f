"""Every rank plots its losses into a folder named by the second at which it started."""

import argparse
import os
from datetime import datetime

import matplotlib.pyplot as plt
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(model, loader, optimizer, device):
    total = 0
    for step, (inputs, targets) in enumerate(loader, start=1):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / step


def plot(losses, folder):
    plt.plot(losses)
    plt.title("training loss")
    plt.xlabel("epoch")
    plt.savefig(os.path.join(folder, "loss.png"))
    plt.close()


def main(args):
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    folder = os.path.join(args.folder, datetime.now().strftime("%Y%m%d-%H%M%S"))
    os.makedirs(folder, exist_ok=True)
    data = torch.randn(256, 8, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(data, data.cumsum(dim=1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(nn.Linear(8, 8).to(device), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    try:
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            losses.append(train(model, loader, optimizer, device))
            plot(losses, folder)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default="results")
    parser.add_argument("--epochs", type=int, default=3)
    main(parser.parse_args())
