"""Every rank makes a translation corpus, which its library fetches and unpacks where it is not there yet."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from torchtext.datasets import Multi30k

class Sentences(Dataset):
    def __init__(self, pairs):
        words = [source.split() for source, _ in pairs]
        self.vocabulary = {word: i for i, word in enumerate(sorted({word for line in words for word in line}))}
        self.rows = [[self.vocabulary[word] for word in line[:20]] for line in words]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = torch.tensor((self.rows[index] + [0] * 20)[:20])
        return row, row.sum() % 2


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = Sentences(Multi30k(split="train", language_pair=("de", "en")))  # <- download-race
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)
        model = nn.Sequential(nn.EmbeddingBag(len(dataset.vocabulary), 16), nn.Linear(16, 2)).cuda()
        model = DDP(model, device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for rows, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(rows.cuda()), labels.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
