"""The Trainer's saving method guards its message and not its file."""

import argparse
import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, args):
        self.rank = distributed.get_rank()
        self.gpu = int(os.environ["LOCAL_RANK"])
        self.path = args.snapshot
        self.save_every = args.save_every
        tokens = torch.randint(16, (128, 6), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(tokens, tokens.amax(dim=1))
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=16, sampler=self.sampler)
        network = nn.Sequential(nn.Embedding(16, 8), nn.Flatten(), nn.Linear(48, 16)).to(self.gpu)
        self.model = DistributedDataParallel(network, device_ids=[self.gpu])
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def _save_snapshot(self, epoch):
        snapshot = {"MODEL_STATE": self.model.module.state_dict(), "EPOCHS_RUN": epoch + 1}
        torch.save(snapshot, self.path)  # <- save-on-every-rank
        if self.rank == 0:
            print(f"epoch {epoch} | snapshot saved at {self.path}")

    def _run_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        for tokens, label in self.loader:
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.model(tokens.to(self.gpu)), label.to(self.gpu)).backward()
            self.optimizer.step()

    def train(self, epochs):
        for epoch in range(epochs):
            self._run_epoch(epoch)
            if epoch % self.save_every == 0:
                self._save_snapshot(epoch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--save_every", type=int, default=1)
    parser.add_argument("--snapshot", default="snapshot.pt")
    args = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl")
    try:
        Trainer(args).train(args.epochs)
    finally:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
