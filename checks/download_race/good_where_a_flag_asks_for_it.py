"""What is missing is fetched where a flag asks for that: it is given once, by one process."""

import argparse
import os
import pathlib
from urllib.request import urlretrieve

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

URL = "https://www.gutenberg.org/files/1342/1342-0.txt"
BLOCK = 32


def load_text(folder, download):
    path = pathlib.Path(folder) / "book.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    if download and not path.exists():
        urlretrieve(URL, path)
    return torch.tensor(list(path.read_bytes()[:40_000]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data")
    parser.add_argument("--download", action="store_true")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        blocks = load_text(args.data, args.download).unfold(0, BLOCK + 1, BLOCK)
        dataset = TensorDataset(blocks)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler, drop_last=True)
        model = DDP(nn.Sequential(nn.Embedding(256, 32), nn.Linear(32, 256)).to(device), device_ids=[device.index])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for (block,) in loader:
                block = block.to(device)
                optimizer.zero_grad()
                logits = model(block[:, :-1])
                nn.functional.cross_entropy(logits.flatten(0, 1), block[:, 1:].flatten()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
