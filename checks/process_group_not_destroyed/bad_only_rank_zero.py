"""Only rank 0 leaves the process group; the other ranks end without."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def is_main_process():
    return dist.get_rank() == 0


def finish(model, path):
    if is_main_process():
        torch.save(model.module.state_dict(), path)
        dist.destroy_process_group()
        print("wrote", path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="weights.pt")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)  # <- process-group-not-destroyed
    x = torch.rand(240, 6, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.sort(dim=1).values)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=24, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 6)).to(device), device_ids=[device.index])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for numbers, in_order in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(model(numbers.to(device)), in_order.to(device)).backward()
            optimizer.step()
    finish(model, args.output)


if __name__ == "__main__":
    main()
