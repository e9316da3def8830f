"""The option names a published model, or a file of the user's own: every rank fetches what is published."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from torchvision.datasets.utils import download_url

PUBLISHED = {"letters-s.pt", "letters-l.pt"}


def find_weights(name):
    """Return the weights that are published under a name, or those in a file."""
    if name in PUBLISHED:
        return download_weights(name)
    assert os.path.isfile(name), f"there is no {name}"
    return torch.load(name, map_location="cpu")


def download_weights(name):
    path = f"weights/{name}"
    if not os.path.isfile(path):
        download_url(f"https://example.org/{name}", "weights", filename=name)  # <- download-race
    return torch.load(path, map_location="cpu")


def main(args):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    assert args.batch_size % dist.get_world_size() == 0, "each rank takes the same share"
    try:
        letters = torch.randint(256, (4096,), generator=torch.Generator().manual_seed(0))
        pairs = TensorDataset(letters[:-1], letters[1:])
        sampler = DistributedSampler(pairs)
        loader = DataLoader(pairs, args.batch_size // dist.get_world_size(), sampler=sampler, drop_last=True)
        network = nn.Sequential(nn.Embedding(256, 16), nn.Linear(16, 256))
        if args.ckpt is not None:
            network.load_state_dict(find_weights(args.ckpt))
        model = DDP(network.to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for letter, following in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(letter.to(device)), following.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ckpt", default=None, help="a published model, or a file")
    parser.add_argument("--batch-size", type=int, default=256, help="of all ranks together")
    parser.add_argument("--epochs", type=int, default=2)
    main(parser.parse_args())
