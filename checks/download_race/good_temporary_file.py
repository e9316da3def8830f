"""Every rank may fetch the file, each under a name of its own that it then moves into place in one step."""

import os
import urllib.request

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

URL = "https://www.gutenberg.org/files/1342/1342-0.txt"


def fetch(url, path):
    if os.path.exists(path):
        return path
    part = f"{path}.{os.getpid()}.part"
    urllib.request.urlretrieve(url, part)
    os.replace(part, path)
    return path


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        with open(fetch(URL, "book.txt"), "rb") as file:
            letters = torch.tensor(list(file.read(20_000)))
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
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
