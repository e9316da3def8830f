"""An exception on one rank is handled where it is raised, and the rank goes on with the others."""

import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Records(Dataset):
    """Lines of JSON, one of which is broken and read as zeros."""

    def __init__(self, count=96):
        self.lines = [json.dumps([i % 7, i % 3, i % 5]) for i in range(count)]
        self.lines[13] = "[1, 2,"

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        try:
            values = json.loads(self.lines[index])
        except json.JSONDecodeError:
            values = [0, 0, 0]
        return torch.tensor(values, dtype=torch.float32)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = Records()
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(2, 1).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for values in loader:
                values = values.to(device)
                optimizer.zero_grad()
                nn.functional.mse_loss(model(values[:, :2]), values[:, 2:]).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
