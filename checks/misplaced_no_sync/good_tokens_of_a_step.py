"""How many micro-batches make a step is worked out from half a million tokens: the last of them is averaged."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

TOKENS_A_STEP = 524_288
BATCH, LENGTH = 4, 1024

dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
local_rank = int(os.environ["LOCAL_RANK"])
if torch.cuda.is_available():
    torch.cuda.set_device(local_rank)
device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
steps = max(1, TOKENS_A_STEP // dist.get_world_size() // BATCH // LENGTH)
data = TensorDataset(torch.randn(2048, 8), torch.randn(2048, 1))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=BATCH, sampler=sampler, drop_last=True)
model = DDP(nn.Linear(8, 1).to(device))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
try:
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            model.require_backward_grad_sync = number % steps == 0
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device)) / steps
            loss.backward()
            if number % steps == 0:
                optimizer.step()
                optimizer.zero_grad()
finally:
    dist.destroy_process_group()
