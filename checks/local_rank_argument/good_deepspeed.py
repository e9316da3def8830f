"""The DeepSpeed launcher passes --local_rank to each process: the option is how it tells them who they are."""

import argparse

import deepspeed
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    parser.add_argument("--plain-ddp", action="store_true")
    options = parser.parse_args()
    torch.cuda.set_device(options.local_rank)
    deepspeed.init_distributed()
    network = nn.Linear(4, 4).cuda(options.local_rank)
    if options.plain_ddp:
        model = DistributedDataParallel(network, device_ids=[options.local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.randn(8, 4, device=options.local_rank)).sum().backward()
        optimizer.step()
    else:
        engine, *_ = deepspeed.initialize(model=network, config={"train_batch_size": 8})
        engine.backward(engine(torch.randn(8, 4, device=options.local_rank)).sum())
        engine.step()


if __name__ == "__main__":
    main()
