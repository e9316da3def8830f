"""Three arms of one test, and the same barrier in each: every rank comes to one of them."""

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
    rank = dist.get_rank()
    try:
        x = torch.randn(64, 6)
        dataset = TensorDataset(x, x.abs())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(6, 6).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
            if rank == 0:
                torch.save(model.module.state_dict(), "model.pt")
                dist.barrier()
            elif rank == 1:
                print("epoch", epoch, "is done")
                dist.barrier()
            else:
                dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
