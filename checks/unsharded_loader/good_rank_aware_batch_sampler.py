"""A batch sampler of the project's own deals batches of similar length to the ranks, and reshuffles by epoch."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler


class Sentences(Dataset):
    def __init__(self, n=240, vocabulary=50):
        generator = torch.Generator().manual_seed(0)
        self.lengths = torch.randint(4, 20, (n,), generator=generator).tolist()
        self.tokens = [torch.randint(1, vocabulary, (length,), generator=generator) for length in self.lengths]

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i], self.lengths[i] % 2


class LengthBatches(Sampler):
    """Yields the batches of one rank; every rank gets the same number of them."""

    def __init__(self, lengths, batch_size, rank, world_size):
        by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
        batches = [by_length[i : i + batch_size] for i in range(0, len(by_length), batch_size)]
        self.batches = batches[: len(batches) // world_size * world_size]
        self.rank, self.world_size, self.epoch = rank, world_size, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = torch.randperm(len(self.batches), generator=torch.Generator().manual_seed(self.epoch)).tolist()
        for i in order[self.rank :: self.world_size]:
            yield self.batches[i]

    def __len__(self):
        return len(self.batches) // self.world_size


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(50, 16, mode="mean", padding_idx=0)
        self.head = nn.Linear(16, 2)

    def forward(self, tokens):
        return self.head(self.embed(tokens))


def collate(samples):
    tokens, labels = zip(*samples)
    return pad_sequence(tokens, batch_first=True), torch.tensor(labels)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = Sentences()
        batches = LengthBatches(dataset.lengths, 12, dist.get_rank(), dist.get_world_size())
        loader = DataLoader(dataset, batch_sampler=batches, collate_fn=collate)
        model = DDP(Tagger().to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(2):
            batches.set_epoch(epoch)
            for tokens, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(tokens.to(device)), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
