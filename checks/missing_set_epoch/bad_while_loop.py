"""Training by number of steps: a while loop goes through the loader again and again in one order."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train(gpu, args):
    torch.cuda.set_device(gpu)
    dist.init_process_group(backend="nccl", init_method=args.dist_url, world_size=args.gpus, rank=gpu)
    try:
        features = torch.randn(240, 9, generator=torch.Generator().manual_seed(4))
        train_set = TensorDataset(features, features.softmax(dim=1))
        train_loader = DataLoader(train_set, batch_size=12, sampler=DistributedSampler(train_set, shuffle=True))
        net = DDP(nn.Linear(9, 9).cuda(gpu), device_ids=[gpu])
        optimizer = torch.optim.SGD(net.parameters(), lr=args.lr)
        step = 0
        while step < args.max_steps:
            for x, y in train_loader:  # <- missing-set-epoch
                loss = nn.functional.kl_div(net(x.cuda(gpu)).log_softmax(dim=1), y.cuda(gpu), reduction="batchmean")
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
                if step >= args.max_steps:
                    break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    parser.add_argument("--max-steps", type=int, default=40)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--dist-url", default="tcp://127.0.0.1:29531")
    options = parser.parse_args()
    mp.spawn(train, args=(options,), nprocs=options.gpus)
