"""Samples are generated from the wrapped module now and then: without gradients, and no loss comes from them."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Language(nn.Module):
    def __init__(self, words=16, width=24):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.recurrent = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.recurrent(self.embedding(tokens))[0])

    @torch.no_grad()
    def generate(self, tokens, length):
        for _ in range(length):
            following = self.forward(tokens)[:, -1].argmax(dim=1, keepdim=True)
            tokens = torch.cat([tokens, following], dim=1)
        return tokens


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
    try:
        tokens = torch.randint(16, (128, 9), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(tokens)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(Language().cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters())
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (tokens,) in loader:
                tokens = tokens.cuda()
                logits = model(tokens[:, :-1])
                optimizer.zero_grad()
                nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
                optimizer.step()
            sample = model.module.generate(tokens[:1, :1], 8)
            if dist.get_rank() == 0:
                print("epoch", epoch, sample.tolist())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
