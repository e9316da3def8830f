"""A Trainer's method reaches the sampler through the loader; the epoch is a parameter, and training may resume."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, train_data, gpu_id, snapshot_path):
        self.gpu_id = gpu_id
        self.train_data = train_data
        self.snapshot_path = snapshot_path
        self.epochs_run = 0
        model = nn.Linear(20, 1).to(gpu_id)
        if os.path.exists(snapshot_path):
            snapshot = torch.load(snapshot_path, map_location=f"cuda:{gpu_id}")
            model.load_state_dict(snapshot["model"])
            self.epochs_run = snapshot["epochs_run"]
        self.model = DDP(model, device_ids=[gpu_id])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)

    def _run_epoch(self, epoch):
        self.train_data.sampler.set_epoch(epoch)
        for source, targets in self.train_data:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(source.to(self.gpu_id)), targets.to(self.gpu_id)).backward()
            self.optimizer.step()

    def _save_snapshot(self, epoch):
        torch.save({"model": self.model.module.state_dict(), "epochs_run": epoch + 1}, self.snapshot_path)

    def train(self, max_epochs):
        for epoch in range(self.epochs_run, max_epochs):
            self._run_epoch(epoch)
            if dist.get_rank() == 0:
                self._save_snapshot(epoch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--snapshot", default="snapshot.pt")
    args = parser.parse_args()
    gpu_id = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu_id)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(256, 20, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.mean(dim=1, keepdim=True))
        loader = DataLoader(dataset, batch_size=32, shuffle=False, sampler=DistributedSampler(dataset))
        Trainer(loader, gpu_id, args.snapshot).train(args.epochs)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
