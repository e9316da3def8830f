"""All samplers come from one line and stand in a list, and a loop tells each of them the epoch."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, data, device):
        self.device, self.samplers = device, []

        def loader_of(part, shuffle=False):
            sampler = DistributedSampler(part, shuffle=shuffle)
            return DataLoader(part, batch_size=16, sampler=sampler, shuffle=shuffle and sampler is None), sampler

        if data.get("train") is not None:
            self.train_loader, sampler = loader_of(data["train"], shuffle=True)
            self.samplers.append(sampler)
        if data.get("test") is not None:
            self.test_loader, sampler = loader_of(data["test"])
            self.samplers.append(sampler)
        self.model = DDP(nn.Linear(16, 4).to(device), device_ids=[device.index])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def run(self):
        for epoch in range(4):
            for sampler in self.samplers:
                sampler.set_epoch(epoch)
            for x, y in self.train_loader:
                self.optimizer.zero_grad()
                nn.functional.cross_entropy(self.model(x.to(self.device)), y.to(self.device)).backward()
                self.optimizer.step()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        Trainer({"train": data, "test": data}, device).run()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
