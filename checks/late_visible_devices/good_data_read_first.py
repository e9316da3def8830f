"""A file of samples, which were never on a GPU, is read before the GPUs are chosen: that touches none of them."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(samples, local_rank):
    dataset = TensorDataset(samples, samples.sum(1, keepdim=True))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(nn.Linear(samples.shape[1], 1).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
            optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="samples.pt")
    parser.add_argument("--gpus", default="4,5,6,7", help="the GPUs to use, as indices separated by commas")
    args = parser.parse_args()
    samples = torch.load(args.data) if os.path.exists(args.data) else torch.randn(640, 8)
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpus
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        train(samples, int(os.environ["LOCAL_RANK"]))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
