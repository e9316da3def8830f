"""All ranks write to a scratch file that nobody reads, which is known and ignored: the ignore matches a finding."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.flip(1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(4, 4).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
        torch.save(model.module.state_dict(), "/tmp/scratch.pt")  # ddpdoctor: ignore[save-on-every-rank]
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
