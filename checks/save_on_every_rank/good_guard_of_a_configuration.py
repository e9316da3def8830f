"""One rank saves, or the only process there is: what a configuration says decides which, and it is not known here."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from yacs.config import CfgNode

config = CfgNode()
config.EPOCHS = 4
config.OUTPUT = "output"
config.DIST = CfgNode()
config.DIST.ENABLED = False
config.DIST.BACKEND = "nccl"


def train(cfg):
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    if cfg.DIST.ENABLED:
        dist.init_process_group(cfg.DIST.BACKEND)
    try:
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.relu())
        sampler = DistributedSampler(dataset) if cfg.DIST.ENABLED else None
        loader = DataLoader(dataset, batch_size=16, sampler=sampler, shuffle=sampler is None)
        model = nn.Linear(4, 4).to(device)
        if cfg.DIST.ENABLED:
            model = DDP(model, device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(cfg.EPOCHS):
            if sampler is not None:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
            if not cfg.DIST.ENABLED or dist.get_rank() == 0:
                torch.save(model.state_dict(), os.path.join(cfg.OUTPUT, "last.pth"))
    finally:
        if cfg.DIST.ENABLED:
            dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("opts", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    config.merge_from_file(args.config)
    config.merge_from_list(args.opts)
    config.freeze()
    train(config)
