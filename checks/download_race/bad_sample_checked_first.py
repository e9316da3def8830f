"""A data set that checks each recording against the configuration, and keeps its spectrum beside it."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Recordings(Dataset):
    def __init__(self, list_file, rate, width=512):
        with open(list_file) as file:
            self.lines = [line.split("|") for line in file.read().splitlines()]
        self.rate, self.width = rate, width

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        path, label = self.lines[index]
        return self.spectrum(path), int(label)

    def spectrum(self, path):
        cached = path.replace(".pt", ".spec.pt")
        if os.path.exists(cached):
            return torch.load(cached)
        recording = torch.load(path)
        if recording["rate"] != self.rate:
            raise ValueError(f"{path} has {recording['rate']} samples a second, not {self.rate}")
        signal = recording["signal"][: self.width]
        spectrum = torch.fft.rfft(signal).abs()
        torch.save(spectrum, cached)  # <- download-race
        return spectrum


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    dataset = Recordings("train.txt", config["rate"])
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler, num_workers=4)
    model = DDP(nn.Linear(257, 10).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    try:
        for epoch in range(10):
            sampler.set_epoch(epoch)
            for spectra, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(spectra.cuda()), labels.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
