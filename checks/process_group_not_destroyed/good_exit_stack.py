"""An ExitStack holds the destruction, two calls away from the init; a single process needs neither."""

import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def join_run(stack, device):
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return False
    dist.init_process_group("nccl", device_id=device)
    stack.callback(dist.destroy_process_group)
    return True


def main():
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    with contextlib.ExitStack() as stack:
        distributed = join_run(stack, device)
        x = torch.rand(200, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.median(dim=1, keepdim=True).values)
        sampler = DistributedSampler(dataset) if distributed else None
        loader = DataLoader(dataset, batch_size=20, sampler=sampler, shuffle=not distributed)
        model = nn.Linear(5, 1).to(device)
        if distributed:
            model = DDP(model, device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            if distributed:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()


if __name__ == "__main__":
    main()
