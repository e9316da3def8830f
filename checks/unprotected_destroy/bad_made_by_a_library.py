"""Accelerate's state makes the process group, and the script's last line destroys it."""

import torch
import torch.distributed as dist
from accelerate import PartialState
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

state = PartialState()
x = torch.randn(128, 4, generator=torch.Generator().manual_seed(0))
dataset = TensorDataset(x, x.sum(dim=1, keepdim=True))
sampler = DistributedSampler(dataset, num_replicas=state.num_processes, rank=state.process_index)
loader = DataLoader(dataset, batch_size=8, sampler=sampler)
model = DDP(nn.Linear(4, 1).to(state.device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs.to(state.device)), targets.to(state.device)).backward()
        optimizer.step()
dist.destroy_process_group()  # <- unprotected-destroy
