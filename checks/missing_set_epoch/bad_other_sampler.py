"""A Trainer sets the epoch of the validation sampler, which does not shuffle, and not that of the training sampler."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, model, train_set, val_set, gpu_id):
        self.gpu_id = gpu_id
        self.model = DDP(model.to(gpu_id), device_ids=[gpu_id])
        self.train_sampler = DistributedSampler(train_set)
        self.val_sampler = DistributedSampler(val_set, shuffle=False, drop_last=True)
        self.train_data = DataLoader(train_set, batch_size=16, sampler=self.train_sampler)
        self.val_data = DataLoader(val_set, batch_size=16, sampler=self.val_sampler)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def _run_batch(self, source, targets):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(source), targets)
        loss.backward()
        self.optimizer.step()

    def _run_epoch(self):
        for source, targets in self.train_data:  # <- missing-set-epoch
            self._run_batch(source.to(self.gpu_id), targets.to(self.gpu_id))

    @torch.no_grad()
    def _validate(self, epoch):
        self.val_sampler.set_epoch(epoch)
        counts = torch.zeros(2, device=self.gpu_id)
        for source, targets in self.val_data:
            predicted = self.model.module(source.to(self.gpu_id)).argmax(dim=1)
            counts[0] += (predicted == targets.to(self.gpu_id)).sum()
            counts[1] += len(targets)
        dist.all_reduce(counts)
        return (counts[0] / counts[1]).item()

    def train(self, max_epochs):
        for epoch in range(max_epochs):
            self._run_epoch()
            accuracy = self._validate(epoch)
            if self.gpu_id == 0:
                print(f"epoch {epoch} | accuracy {accuracy:.3f}")


def main():
    gpu_id = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu_id)
    dist.init_process_group(backend="nccl")
    try:
        x = torch.randn(352, 10, generator=torch.Generator().manual_seed(6))
        y = (x[:, :5].sum(dim=1) > x[:, 5:].sum(dim=1)).long()
        trainer = Trainer(nn.Linear(10, 2), TensorDataset(x[:288], y[:288]), TensorDataset(x[288:], y[288:]), gpu_id)
        trainer.train(max_epochs=3)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
