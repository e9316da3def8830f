"""What each rank measured on its own part of the data, in a file that is named after the options: one for all."""

import argparse
import os

import torch
import torch.distributed as dist
import yaml
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Mean:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, count):
        self.sum += value * count
        self.count += count
        self.mean = self.sum / self.count


def tested(model, loader):
    error = Mean()
    for inputs, targets in loader:
        with torch.no_grad():
            error.update((model(inputs.cuda()) - targets.cuda()).abs().mean().item(), len(inputs))
    return error.mean


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--width", type=int, default=16)
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        x = torch.rand(192, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.prod(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        net = nn.Sequential(nn.Linear(6, options.width), nn.Tanh(), nn.Linear(options.width, 1)).cuda()
        model = DistributedDataParallel(net, device_ids=[torch.cuda.current_device()])
        optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
        error = tested(model, loader)
        name = "result_lr_" + str(options.lr) + "_width_" + str(options.width)
        with open(name + ".yaml", "w") as file:  # <- save-on-every-rank
            yaml.safe_dump({"options": vars(options), "error": error}, file)
            file.write(f"# {error:.4f}\n")
        with open("all_results.txt", "a") as file:  # <- save-on-every-rank
            file.write(f"{name}: {error}\n")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
