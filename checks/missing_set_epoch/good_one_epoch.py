"""One pass over the data, as large language models are trained: there is no second epoch to reorder."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class NextToken(nn.Module):
    def __init__(self, vocabulary=48, width=32):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.mix = nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        return self.head(self.mix(self.embed(tokens), src_mask=mask, is_causal=True))


def worker(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29532")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        corpus = TensorDataset(torch.randint(48, (256, 17), generator=torch.Generator().manual_seed(0)))
        loader = DataLoader(corpus, batch_size=16, sampler=DistributedSampler(corpus))
        model = DDP(NextToken().to(rank), device_ids=[rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
        for step, (tokens,) in enumerate(loader):
            tokens = tokens.to(rank)
            loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0 and step % 4 == 0:
                print(f"step {step}: {loss.item():.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    world_size = torch.cuda.device_count()
    mp.spawn(worker, args=(world_size,), nprocs=world_size)
