"""A trainer's method loads the snapshot, in one line; the ranks are spawned."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Trainer:
    def __init__(self, rank, options):
        self.rank = rank
        self.options = options
        self.network = DistributedDataParallel(nn.Linear(4, 2).cuda(rank), device_ids=[rank])
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=options.get("lr", 1e-3))
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        self.data = TensorDataset(x, x[:, :2].tanh())
        self.loader = DataLoader(self.data, batch_size=16, sampler=DistributedSampler(self.data))
        if options["weights"] is not None:
            self.restore(options["weights"])

    def restore(self, file):
        self.network.module.load_state_dict(torch.load(file)["network"])  # <- load-without-map-location

    def fit(self):
        for epoch in range(self.options["epochs"]):
            self.loader.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.network(x.cuda(self.rank)), y.cuda(self.rank)).backward()
                self.optimizer.step()
        if self.rank == 0:
            torch.save({"network": self.network.module.state_dict()}, os.path.join("runs", "final.pth"))


def worker(rank, world_size, options):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        Trainer(rank, options).fit()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    mp.spawn(worker, args=(gpus, {"epochs": 2, "weights": os.environ.get("WEIGHTS")}), nprocs=gpus)
