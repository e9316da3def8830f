"""Hugging Face datasets and hub calls on every rank: both hold a lock on their cache while they write it."""

import os

import torch
import torch.distributed as dist
from datasets import load_dataset
from huggingface_hub import hf_hub_download
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def vocabulary():
    with open(hf_hub_download("google-bert/bert-base-uncased", "vocab.txt"), encoding="utf-8") as file:
        return {line.strip(): index for index, line in enumerate(file)}


def encode(rows, words, length=32):
    ids = [[words.get(word, 100) for word in row["text"].lower().split()[:length]] for row in rows]
    tokens = torch.tensor([line + [0] * (length - len(line)) for line in ids])
    return tokens, torch.tensor([row["label"] for row in rows])


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        words = vocabulary()
        reviews = load_dataset("stanfordnlp/imdb", split="train")
        sampler = DistributedSampler(reviews)
        loader = DataLoader(reviews, batch_size=32, sampler=sampler, collate_fn=lambda rows: encode(rows, words))
        model = nn.Sequential(nn.EmbeddingBag(len(words), 64), nn.Linear(64, 2)).to(device)
        model = DDP(model, device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for tokens, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(tokens.to(device)), labels.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
