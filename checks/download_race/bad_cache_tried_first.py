"""A cache that is read first, and made by every rank that could not read it."""

import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Windows(Dataset):
    def __init__(self, root, length=32):
        self.file = os.path.join(root, f"windows_{length}.npy")
        try:
            self.windows = np.load(self.file)
        except (FileNotFoundError, ValueError):
            walk = np.random.default_rng(0).normal(size=12_800).cumsum()
            self.windows = walk.reshape(-1, length).astype(np.float32)
            os.makedirs(root, exist_ok=True)
            np.save(self.file, self.windows)  # <- download-race

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, index):
        window = torch.from_numpy(self.windows[index])
        return window[:-1], window[-1:]


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = Windows("data")
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
