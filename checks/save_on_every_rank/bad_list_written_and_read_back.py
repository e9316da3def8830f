"""Every rank writes a list anew and reads it back at once, while another still writes it."""
# not run: it wants images

import argparse
import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset



class Scenes(nn.Module):
    def __init__(self, folder):
        super().__init__()
        with open(os.path.join(folder, "names.json")) as file:
            self.names = json.load(file)
        self.exposure = nn.Embedding(len(self.names), 8)
        self.out = nn.Linear(8, 1)

    def forward(self, number):
        return self.out(self.exposure(number))


def main(args):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    os.makedirs(args.folder, exist_ok=True)
    names = sorted(os.listdir(args.images))
    with open(os.path.join(args.folder, "names.json"), "w") as file:  # <- save-on-every-rank
        json.dump(names, file, indent=2)
    dataset = TensorDataset(torch.arange(len(names)))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(Scenes(args.folder).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    try:
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for (number,) in loader:
                optimizer.zero_grad()
                model(number.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", default="images")
    parser.add_argument("--folder", default="out")
    main(parser.parse_args())
