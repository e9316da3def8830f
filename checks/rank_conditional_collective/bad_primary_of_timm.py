"""Only the process that timm calls primary puts the mean of the losses together."""

import argparse

import torch
import torch.distributed as dist
from timm import utils
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    device = utils.init_distributed_device(args)
    try:
        points = torch.randn(640, 5, generator=torch.Generator().manual_seed(0))
        data = TensorDataset(points, points.sum(dim=1, keepdim=True))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=32, sampler=sampler)
        model = DDP(nn.Linear(5, 1).to(device), device_ids=[device])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
                loss.backward()
                optimizer.step()
            if utils.is_primary(args):
                mean = loss.detach()
                dist.all_reduce(mean, dist.ReduceOp.AVG)  # <- rank-conditional-collective
                print(f"epoch {epoch}: {mean.item():.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
