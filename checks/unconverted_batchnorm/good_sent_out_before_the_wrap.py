"""Parameters that are sent out by hand before DDP does so again, and those of an average that only evaluates."""

import copy
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def send_out(module):
    for tensor in module.state_dict().values():
        dist.broadcast(tensor, 0)


def main():
    dist.init_process_group("nccl")
    try:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
        mean = copy.deepcopy(model).cuda().eval()
        send_out(mean)
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model).cuda()
        send_out(model)
        model = DDP(model, device_ids=[int(os.environ["LOCAL_RANK"])])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 8).cuda()).sum().backward()
            optimizer.step()
            with torch.no_grad():
                mean(torch.randn(4, 8).cuda())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
