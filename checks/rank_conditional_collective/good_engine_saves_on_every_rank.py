"""Every rank lets DeepSpeed's engine save, and rank 0 writes a note of its own beside it."""

# not run: DeepSpeed is not here

import argparse

import deepspeed
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import TensorDataset


class Run:
    def __init__(self, args):
        self.args = args
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.square().sum(dim=1, keepdim=True))
        model = nn.Linear(6, 1)
        self.engine, _, self.loader, _ = deepspeed.initialize(
            args=args, model=model, model_parameters=model.parameters(), training_data=dataset
        )

    def train(self):
        for epoch in range(self.args.epochs):
            for inputs, targets in self.loader:
                loss = nn.functional.mse_loss(self.engine(inputs.cuda()), targets.cuda())
                self.engine.backward(loss)
                self.engine.step()
            self.save(epoch)

    def save(self, epoch):
        self.engine.save_checkpoint("checkpoints", tag=f"epoch{epoch}")
        if dist.get_rank() == 0:
            print(f"saved epoch {epoch}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--local_rank", type=int, default=-1)
    parser = deepspeed.add_config_arguments(parser)
    Run(parser.parse_args()).train()


if __name__ == "__main__":
    main()
