"""The losses of all ranks are averaged, and rank 0 adds the line to the log."""
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
        dist.all_reduce(total)
        mean = total.item() / len(self.loader) / dist.get_world_size()
        if dist.get_rank() == 0:
            with open(self.log_file, "a") as log:
                log.write(f"epoch {epoch}: loss {mean:.4f}\n")


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
