"""No loader at all: every rank draws random windows of one long text with a generator of its own."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

BLOCK = 16


def get_batch(text, generator, batch_size=24):
    starts = torch.randint(len(text) - BLOCK - 1, (batch_size,), generator=generator)
    inputs = torch.stack([text[i : i + BLOCK] for i in starts])
    targets = torch.stack([text[i + 1 : i + 1 + BLOCK] for i in starts])
    return inputs.cuda(non_blocking=True), targets.cuda(non_blocking=True)


class Bigram(nn.Module):
    def __init__(self, vocabulary=32, width=16):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, inputs, targets):
        return nn.functional.cross_entropy(self.head(self.embedding(inputs)).flatten(0, 1), targets.flatten())


ddp_rank = int(os.environ["RANK"])
ddp_local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(ddp_local_rank)
dist.init_process_group(backend="nccl")
try:
    text = torch.randint(32, (4000,), generator=torch.Generator().manual_seed(1337))
    generator = torch.Generator().manual_seed(1337 + ddp_rank)
    model = DDP(Bigram().cuda(), device_ids=[ddp_local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(40):
        loss = model(*get_batch(text, generator))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 10 == 0 and ddp_rank == 0:
            print(f"step {step}: loss {loss.item():.3f}")
finally:
    dist.destroy_process_group()
