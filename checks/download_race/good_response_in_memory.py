"""What the web answers is read where it is, or goes into a file of the rank's own that is moved when it is whole."""

import io
import os
import shutil
import tempfile
import urllib.request

import requests
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BOOK = "https://www.gutenberg.org/files/1342/1342-0.txt"
WEIGHTS = "https://example.org/letters.pt"


def fetch(url, path):
    if os.path.exists(path):
        return path
    with urllib.request.urlopen(url) as response, tempfile.NamedTemporaryFile(dir=".", delete=False) as part:
        shutil.copyfileobj(response, part)
    os.replace(part.name, path)
    return path


def weights(url):
    content = io.BytesIO()
    for chunk in requests.get(url, stream=True, timeout=60).iter_content(1 << 16):
        content.write(chunk)
    content.seek(0)
    return torch.load(content, map_location="cpu")


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        with open(fetch(BOOK, "book.txt"), "rb") as file:
            letters = torch.tensor(list(file.read(20_000)))
        pairs = TensorDataset(letters[:-1], letters[1:])
        sampler = DistributedSampler(pairs)
        loader = DataLoader(pairs, batch_size=256, sampler=sampler, drop_last=True)
        network = nn.Sequential(nn.Embedding(256, 16), nn.Linear(16, 256))
        network.load_state_dict(weights(WEIGHTS))
        model = DDP(network.to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for letter, following in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(letter.to(device)), following.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
