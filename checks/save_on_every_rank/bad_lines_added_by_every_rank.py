"""Every rank adds the loss of its own part of the data to one log, in lines that do not say whose they are."""
# not run: a run records what is saved, and not whatever else is written into files

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, model, loader, log_file):
        self.model = model
        self.loader = loader
        self.log_file = log_file
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def run(self, epoch):
        total = torch.zeros((), device="cuda")
        for (inputs,) in self.loader:
            self.optimizer.zero_grad()
            loss = self.model(inputs.cuda()).square().mean()
            loss.backward()
            self.optimizer.step()
            total += loss.detach()
        line = f"epoch {epoch}: loss {total.item() / len(self.loader):.4f}\n"
        with open(self.log_file, "a") as log:  # <- save-on-every-rank
            log.write(line)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        dataset = TensorDataset(torch.randn(256, 8))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        trainer = Trainer(DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank]), loader, "train.log")
        for epoch in range(3):
            sampler.set_epoch(epoch)
            trainer.run(epoch)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
