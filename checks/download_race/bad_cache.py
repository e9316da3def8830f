"""A cache of prepared data that every rank writes if it is missing, and then reads back."""

import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CACHE = "prepared.npy"


def prepare(samples=400, width=32):
    generator = np.random.default_rng(0)
    signal = generator.normal(size=(samples, width)).cumsum(axis=1)
    return (signal - signal.mean()) / signal.std()


def prepared():
    if not os.path.isfile(CACHE):
        np.save(CACHE, prepare().astype(np.float32))  # <- download-race
    return torch.from_numpy(np.load(CACHE))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        signals = prepared()
        dataset = TensorDataset(signals[:, :-1], signals[:, -1:])
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Linear(31, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for history, following in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(history.cuda()), following.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
