"""The options stand in a table of named tuples, and a function gives them to the parser."""

import argparse
import collections

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

Option = collections.namedtuple("Option", "flags type default help", defaults=[None])

OPTIONS = [
    Option(["-e", "--epochs"], type=int, default=2, help="how often the data are gone through"),
    Option(["-b", "--batch_size"], int, 16, "samples a step"),
    Option(["--local_rank"], int, 0),  # <- local-rank-argument
]


def parse(parser, options):
    for option in options:
        parser.add_argument(*option.flags, default=option.default, type=option.type, help=option.help)
    return parser.parse_args()


def main():
    args = parse(argparse.ArgumentParser(description=__doc__), OPTIONS)
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")
    try:
        x = torch.randn(192, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.square())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler)
        model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 5)).cuda()
        model = DDP(model, device_ids=[args.local_rank], output_device=args.local_rank)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
