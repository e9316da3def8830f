"""An option decides whether rank 0 validates the averaged copy or the wrapper."""

import argparse
import copy
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Dates(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 16))
        self.body = nn.Sequential(nn.Linear(16, width), nn.ReLU())
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        return self.head(self.body(x * self.scale))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--average", action=argparse.BooleanOptionalAction, default=True, help="validate the averaged weights")
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        bare = Dates().to(device)
        averaged = copy.deepcopy(bare)
        model = DDP(bare, device_ids=[local_rank])
        held_out = torch.randn(64, 16, device=device)

        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
                with torch.no_grad():
                    for mean, parameter in zip(averaged.parameters(), bare.parameters(), strict=True):
                        mean.lerp_(parameter, 0.01)

            tested = averaged if args.average else model
            if dist.get_rank() == 0:
                with torch.no_grad():
                    scores = tested(held_out)  # <- rank0-ddp-forward
                print(epoch, scores.argmax(1).bincount().tolist())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
