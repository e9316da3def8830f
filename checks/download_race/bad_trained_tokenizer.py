"""A tokenizer that is trained and stored where there is none yet, and read back by later runs: by every rank."""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from datasets import load_dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.trainers import WordLevelTrainer
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def tokenizer_for(settings, texts):
    stored = Path(settings.folder) / "words.json"
    if not Path.exists(stored):
        tokenizer = Tokenizer(WordLevel(unk_token="?"))
        tokenizer.pre_tokenizer = Whitespace()
        tokenizer.train_from_iterator(texts, trainer=WordLevelTrainer(special_tokens=["?"], min_frequency=3))
        tokenizer.save(str(stored))  # <- download-race
    else:
        tokenizer = Tokenizer.from_file(str(stored))
    return tokenizer


def samples(settings):
    texts = load_dataset("ag_news", split="train")["text"]
    tokenizer = tokenizer_for(settings, texts)
    words = [torch.tensor((tokenizer.encode(text).ids + [0] * 32)[:32]) for text in texts]
    return list(zip(words, words, strict=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default="vocabulary")
    settings = parser.parse_args()
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = samples(settings)
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=32, sampler=sampler)
        net = nn.Sequential(nn.Embedding(50000, 64), nn.Linear(64, 50000)).to(device)
        model = DistributedDataParallel(net, device_ids=[device])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for words, following in loader:
                optimizer.zero_grad()
                logits = model(words.to(device))
                nn.functional.cross_entropy(logits.flatten(0, 1), following.to(device).flatten()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
