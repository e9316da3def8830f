"""Every rank stops after as many steps, rank 0 with a bar around the loader; a loss that is no number ends the program."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from tqdm import tqdm


class Learner:
    def __init__(self, model, loader, gpu, start):
        self.model, self.loader, self.gpu = model, loader, gpu
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.step = start
        self.is_master = True

    def train(self, max_steps=None):
        while True:
            self.loader.sampler.set_epoch(self.step // len(self.loader))
            for inputs, targets in tqdm(self.loader) if self.is_master else self.loader:
                if max_steps is not None and self.step >= max_steps:
                    return
                loss = nn.functional.mse_loss(self.model(inputs.to(self.gpu)), targets.to(self.gpu))
                if torch.isnan(loss).any():
                    raise RuntimeError(f"no number at step {self.step}")
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.step += 1


def main():
    rank, gpu = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    try:
        inputs = torch.randn(512, 6, generator=torch.Generator().manual_seed(0))
        data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
        loader = DataLoader(data, batch_size=32, sampler=DistributedSampler(data))
        model = DDP(nn.Linear(6, 1).to(gpu), device_ids=[gpu])
        learner = Learner(model, loader, gpu, start=int(os.environ.get("START", "0")))
        learner.is_master = rank == 0
        learner.train(max_steps=int(os.environ.get("STEPS", "40")))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
