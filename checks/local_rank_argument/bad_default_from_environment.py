"""The default of --local_rank is LOCAL_RANK: right under torchrun, refused by launchers that pass --local-rank."""

import argparse
import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument(  # <- local-rank-argument
    "--local_rank",
    type=int,
    default=int(os.environ.get("LOCAL_RANK", 0)),
)


class Trainer:
    def __init__(self, args):
        self.gpu = args.local_rank
        x = torch.randn(144, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.flip(0))
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=24, sampler=self.sampler)
        self.model = DistributedDataParallel(nn.Linear(6, 6).cuda(self.gpu), device_ids=[self.gpu])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr)

    def train(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.model(x.cuda(self.gpu)), y.cuda(self.gpu)).backward()
                self.optimizer.step()


if __name__ == "__main__":
    args = parser.parse_args()
    torch.cuda.set_device(args.local_rank)
    distributed.init_process_group(backend="nccl")
    try:
        Trainer(args).train(epochs=2)
    finally:
        distributed.destroy_process_group()
