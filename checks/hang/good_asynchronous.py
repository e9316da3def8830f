"""Two collectives are in flight at once, in two groups, and are waited for in another order than they were started."""

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
        first, second = dist.new_group(), dist.new_group()
        x = torch.randn(96, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.clamp(-1, 1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(5, 5).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                inputs = inputs.to(device)
                sums, squares = inputs.sum(dim=0), inputs.square().sum(dim=0)
                pending = [
                    dist.all_reduce(sums, group=first, async_op=True),
                    dist.all_reduce(squares, group=second, async_op=True),
                ]
                loss = nn.functional.mse_loss(model(inputs), targets.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                for work in reversed(pending):
                    work.wait()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
