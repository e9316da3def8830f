"""Statistics to evaluate by, which every rank that finds them missing fetches: a flag asks for the evaluation only."""

import argparse
import os
import pathlib

import requests
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

URL = "https://example.org/statistics/words.pt"


def reference(folder):
    path = pathlib.Path(folder) / "words.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        answer = requests.get(URL, timeout=60)
        with open(path, "wb") as file:
            file.write(answer.content)  # <- download-race
    return torch.load(path, map_location="cpu")


class Evaluator:
    def __init__(self, folder):
        self.target = reference(folder)

    def distance(self, model, device):
        with torch.no_grad():
            return (model.module(torch.arange(256, device=device)).mean(dim=0).cpu() - self.target).norm().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--distance", action="store_true", help="measure how far the words are from the reference")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        blocks = torch.randint(256, (640, 33), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(blocks)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler, drop_last=True)
        model = DDP(nn.Sequential(nn.Embedding(256, 32), nn.Linear(32, 256)).to(device), device_ids=[device.index])
        evaluator = Evaluator(args.data) if args.distance else None
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for (block,) in loader:
                block = block.to(device)
                optimizer.zero_grad()
                logits = model(block[:, :-1])
                nn.functional.cross_entropy(logits.flatten(0, 1), block[:, 1:].flatten()).backward()
                optimizer.step()
            if evaluator is not None and dist.get_rank() == 0:
                print(epoch, evaluator.distance(model, device))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
