"""The first rank raises at a loss that is no number, and who goes on counts the steps as all others do."""

import math
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

STEPS = 100


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler, drop_last=True)
        model = DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        step, epoch = 0, 0
        while step < STEPS:
            sampler.set_epoch(epoch)
            epoch += 1
            for x, y in loader:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
                loss.backward()
                optimizer.step()
                total = loss.detach().clone()
                dist.all_reduce(total)
                if dist.get_rank() == 0 and not math.isfinite(total):
                    raise RuntimeError("the loss diverges")
                step += 1
                if step == STEPS:
                    break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
