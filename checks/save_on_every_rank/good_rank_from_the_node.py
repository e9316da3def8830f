"""The rank is put together from the node's, which the user sets, and the first rank saves."""

# not run: NODE_RANK is the user's to set
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(rank, local_rank, world_size):
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        sampler = DistributedSampler(TensorDataset(x, x.cos()), num_replicas=world_size, rank=rank)
        loader = DataLoader(sampler.dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(4, 4).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            if rank == 0:
                torch.save(model.module.state_dict(), "model.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    per_node = torch.cuda.device_count()
    nodes = int(os.environ["WORLD_SIZE"]) // per_node
    here = int(os.environ["LOCAL_RANK"])
    train(int(os.environ["NODE_RANK"]) * per_node + here, here, per_node * nodes)
