"""A Trainer keeps the network beside its wrapper, and the training step calls the network."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Tagger(nn.Module):
    def __init__(self, vocabulary=30, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, 16)
        self.rnn = nn.GRU(16, 16, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(32, tags)

    def forward(self, tokens):
        return self.tag(self.rnn(self.embed(tokens))[0])


class Trainer:
    def __init__(self, network, dataset, local_rank):
        self.local_rank = local_rank
        self.network = network.cuda()
        self.ddp = DDP(self.network, device_ids=[local_rank])
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=16, sampler=self.sampler)
        self.optimizer = torch.optim.Adam(self.ddp.parameters(), lr=1e-3)

    def step(self, tokens, tags):
        self.optimizer.zero_grad()
        scores = self.network(tokens.cuda())  # <- bypassed-ddp-forward
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tags.cuda().flatten())
        loss.backward()
        self.optimizer.step()

    def fit(self, epochs):
        self.ddp.train()
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for tokens, tags in self.loader:
                self.step(tokens, tags)


if __name__ == "__main__":
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        tokens = torch.randint(30, (128, 9), generator=torch.Generator().manual_seed(0))
        Trainer(Tagger(), TensorDataset(tokens, tokens % 5), local_rank).fit(epochs=2)
    finally:
        dist.destroy_process_group()
