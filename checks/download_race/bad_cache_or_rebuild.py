"""A cache beside an option's path, written by every rank where it is missing or is to be made anew."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Characters:
    def encode(self, text):
        return [ord(letter) % 128 for letter in text]


def encoded(tokenizer, cache, rebuild):
    cache = cache + "_" + type(tokenizer).__name__
    if cache and os.path.isfile(cache) and not rebuild:
        return torch.load(cache)
    rows = [tokenizer.encode(f"{i:>6} and {i * i:>12}") for i in range(400)]
    torch.save(rows, cache)  # <- download-race
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset-cache", default="./encoded", help="where the encoded text is kept")
    parser.add_argument("--rebuild", action="store_true")
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        rows = torch.tensor(encoded(Characters(), args.dataset_cache, args.rebuild))
        dataset = TensorDataset(rows[:, :-1], rows[:, 1:])
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Sequential(nn.Embedding(128, 32), nn.Linear(32, 128)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for letters, following in loader:
                optimizer.zero_grad()
                scores = model(letters.cuda())
                nn.functional.cross_entropy(scores.flatten(0, 1), following.cuda().flatten()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
