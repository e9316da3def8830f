"""Each of two machines has one GPU and its own copy of this text, with its own rank in it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

os.environ["MASTER_ADDR"] = "192.168.1.10"
os.environ.setdefault("MASTER_PORT", "29500")
os.environ["WORLD_SIZE"] = "2"
os.environ["RANK"] = "0"  # 1 on the other machine
os.environ["LOCAL_RANK"] = "0"

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
try:
    dataset = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    model = DDP(nn.Linear(8, 1).to("cuda:" + str(local_rank)), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
            optimizer.step()
finally:
    dist.destroy_process_group()
