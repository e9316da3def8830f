"""Rank 0 alone opens the log; the others have none, and the lines are written where there is one."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        model = DistributedDataParallel(nn.Linear(4, 1).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        log = open("losses.csv", "w") if dist.get_rank() == 0 else None
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
                loss.backward()
                optimizer.step()
                if log:
                    log.write(f"{epoch},{loss.item():.4f}\n")
        if log:
            log.close()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
