"""A bad sample is noticed by all ranks together and left out by all of them."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        x[17, 3] = float("nan")
        dataset = TensorDataset(x[:, :5], x[:, 5:])
        sampler = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(5, 1).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            for inputs, targets in loader:
                loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
                usable = loss.detach().isfinite().float()
                dist.all_reduce(usable, dist.ReduceOp.MIN)
                if not usable.item():
                    continue
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
