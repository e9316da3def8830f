"""One epoch, counted by a progress bar: there is no second one to have another order."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from tqdm import tqdm


class Trainer:
    def __init__(self, model, dataset, max_epochs):
        self.model = DDP(model)
        self.loader = DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.max_epochs = max_epochs

    def run(self):
        for epoch in tqdm(range(self.max_epochs), desc="epochs"):
            self.loader.sampler.set_epoch(epoch)
            for inputs, targets in tqdm(self.loader):
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.model(inputs), targets).backward()
                self.optimizer.step()


def main():
    dist.init_process_group("gloo")
    try:
        x = torch.rand(192, 3, generator=torch.Generator().manual_seed(0))
        Trainer(nn.Linear(3, 1), TensorDataset(x, x.sum(dim=1, keepdim=True)), max_epochs=1).run()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
