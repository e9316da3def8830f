"""A data set that keeps what it has made of a recording in the memory, and writes only what nobody reads back."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Recordings(Dataset):
    def __init__(self, list_file, width=512):
        with open(list_file) as file:
            self.lines = [line.split("|") for line in file.read().splitlines()]
        self.width = width
        self.kept = {}

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        path, label = self.lines[index]
        return self.spectrum(path), int(label)

    def spectrum(self, path):
        cached = path.replace(".pt", ".spec.pt")
        if path in self.kept:
            return self.kept[path]
        signal = torch.load(path)[: self.width]
        spectrum = torch.fft.rfft(signal).abs()
        if not spectrum.isfinite().all() and not os.path.exists(cached):
            torch.save(spectrum, cached)  # to be looked at afterwards
        self.kept[path] = spectrum
        return spectrum


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    dataset = Recordings("train.txt")
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
