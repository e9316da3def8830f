"""Every rank makes the list of letters where it is missing, writes it as a text, and reads it as one later."""

import os
import json
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Samples(Dataset):
    def __init__(self, root):
        self.texts = (Path(root) / "texts.txt").open().readlines()
        self.letters = self.read_letters(Path(root) / "letters.json")

    def read_letters(self, path):
        if path.is_file():
            return json.loads(path.read_text())
        letters = {letter: number for number, letter in enumerate(sorted(set("".join(self.texts))))}
        path.write_text(json.dumps(letters))  # <- download-race
        return letters

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return torch.tensor([float(self.letters[letter]) for letter in self.texts[index][:8]])


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    dataset = Samples("data")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    try:
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for samples in loader:
                optimizer.zero_grad()
                model(samples.cuda()).square().mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
