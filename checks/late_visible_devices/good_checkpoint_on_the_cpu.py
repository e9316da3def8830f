"""The checkpoint that is read before the GPUs are chosen is put on the CPU."""

import argparse
import os

import torch
import torch.distributed as dist
import yaml
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(config, local_rank):
    x = torch.randn(160, 6, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(x, x.topk(2, dim=1).values)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=config["batch_size"], sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2)).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    for epoch in range(config["epochs"]):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            state = {"config": config, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, f"epoch{epoch}.pt")

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-c", "--config", default="config.yaml")
    parser.add_argument("-r", "--resume", default=None, help="the checkpoint to go on from")
    parser.add_argument("-d", "--devices", default=None, help="the GPUs to use, as indices separated by commas")
    args = parser.parse_args()
    with open(args.config, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    if args.resume:
        config = torch.load(args.resume, map_location="cpu")["config"]
    if args.devices:
        os.environ["CUDA_VISIBLE_DEVICES"] = args.devices
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        train(config, int(os.environ["LOCAL_RANK"]))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
