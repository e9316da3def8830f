"""An evaluation set that a generator fetches before its first example: every rank streams it into the same file."""

import json
import os

import requests
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from tqdm import tqdm

CACHE = os.path.join(os.path.dirname(__file__), "questions")
URLS = {"val": "https://example.org/questions_val.jsonl", "test": "https://example.org/questions_test.jsonl"}


def fetch(url, name, chunk_size=1024):
    response = requests.get(url, stream=True, timeout=60)
    total = int(response.headers.get("content-length", 0))
    with open(name, "wb") as file, tqdm(desc=name, total=total, unit="iB") as bar:
        for chunk in response.iter_content(chunk_size=chunk_size):
            bar.update(file.write(chunk))  # <- download-race


def questions(split):
    os.makedirs(CACHE, exist_ok=True)
    name = os.path.join(CACHE, f"{split}.jsonl")
    if not os.path.exists(name):
        fetch(URLS[split], name)
    with open(name, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def evaluate(model, device):
    """Count the questions whose first letter the model finds likely; each rank takes its share."""
    right = torch.zeros(2, device=device)
    model.eval()
    with torch.no_grad():
        for i, question in enumerate(questions("val")):
            if i % dist.get_world_size() != dist.get_rank():
                continue
            letters = torch.tensor(list(question["text"].encode()[:32]), device=device)
            right += torch.stack([model.module(letters).argmax(-1).eq(question["label"]).any(), torch.ones((), device=device)])
    model.train()
    dist.all_reduce(right)
    return (right[0] / right[1]).item()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        letters = torch.randint(256, (4096,), generator=torch.Generator().manual_seed(0))
        pairs = TensorDataset(letters[:-1], letters[1:])
        sampler = DistributedSampler(pairs)
        loader = DataLoader(pairs, batch_size=256, sampler=sampler, drop_last=True)
        model = DDP(nn.Sequential(nn.Embedding(256, 16), nn.Linear(16, 256)).to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for letter, following in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(letter.to(device)), following.to(device)).backward()
                optimizer.step()
            accuracy = evaluate(model, device)
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: {accuracy:.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
