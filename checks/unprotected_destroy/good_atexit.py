"""atexit destroys the group: it runs after a normal end and after an exception alike."""

import atexit
import os

import torch
from torch import nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
init_process_group("nccl")
atexit.register(destroy_process_group)

x = torch.randn(120, 5, generator=torch.Generator().manual_seed(0))
dataset = TensorDataset(x, x.sign())
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=12, sampler=sampler)
model = DDP(nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 5)).cuda(), device_ids=[local_rank])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
        optimizer.step()
