"""Rank 0 fetches the published model first, and the others meet it in a barrier before they look for the file."""

import argparse
import os
import urllib.request

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

PUBLISHED = {
    "small": "https://example.com/models/1f2e/small.pt",
    "large": "https://example.com/models/9a8b/large.pt",
}
FILES = {"small": "small.pt", "large": "large.pt"}


def fetch(url, folder=os.path.expanduser("~/.cache/models")):
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, os.path.basename(url))
    if os.path.isfile(target):
        return target
    with urllib.request.urlopen(url) as source, open(target, "wb") as output:
        while True:
            piece = source.read(8192)
            if not piece:
                break
            output.write(piece)
    return target


class Net(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        self.body.load_state_dict(weights)

    @classmethod
    def published(cls, *args, **kwargs):
        name = "small"
        if "options" in kwargs.keys():
            name = kwargs["options"].model
        return cls(cls.weights_of(name))

    @staticmethod
    def weights_of(name="small"):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "small.pt")
        if name in PUBLISHED and name in FILES:
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), FILES[name])
        if name in ["small", "large"] and os.path.exists(path):
            pass
        elif name in PUBLISHED:
            path = fetch(PUBLISHED[name])
        else:
            raise RuntimeError(f"no model {name}, but {list(PUBLISHED)}")
        return torch.load(path, map_location="cpu")

    def forward(self, inputs):
        return self.body(inputs)


def main(args):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    if local_rank == 0:
        Net.weights_of(args.model)
    dist.barrier()
    model = DDP(Net.published("train", options=args).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    try:
        for _ in range(args.steps):
            optimizer.zero_grad()
            model(torch.randn(16, 64, device="cuda")).square().mean().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="small")
    parser.add_argument("--steps", type=int, default=100)
    main(parser.parse_args())
