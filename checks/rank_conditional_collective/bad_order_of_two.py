"""Both arms call both collectives, in another order: rank 0 reduces while the others wait for it in the barrier."""

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
    rank = dist.get_rank()
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.square().sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(6, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            seen = torch.full((4,), float(len(loader)), device="cuda")
            if rank == 0:
                dist.all_reduce(seen)  # <- rank-conditional-collective
                dist.barrier()
                print(f"epoch {epoch}: {seen[0].item():.0f} batches")
            else:
                dist.barrier()
                dist.all_reduce(seen)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
