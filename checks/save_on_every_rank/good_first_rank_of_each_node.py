"""One save for each node, or for a run of a single process: the guard divides the rank by the GPUs of a node."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main_worker(gpu, args):
    torch.cuda.set_device(gpu)
    args.rank = args.node_rank * args.gpus + gpu
    if args.distributed:
        dist.init_process_group("nccl", init_method=args.dist_url, world_size=args.gpus * args.nodes, rank=args.rank)
    try:
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.relu())
        model = nn.Linear(4, 4).cuda(gpu)
        sampler = None
        if args.distributed:
            model = DDP(model, device_ids=[gpu])
            sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, shuffle=(sampler is None), sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            if args.distributed:
                sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda(gpu)), targets.cuda(gpu)).backward()
                optimizer.step()
            if not args.distributed or args.rank % args.gpus == 0:
                network = model.module if args.distributed else model
                torch.save({"epoch": epoch + 1, "state_dict": network.state_dict()}, "checkpoint.pth.tar")
    finally:
        if args.distributed:
            dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--dist-url", default="tcp://127.0.0.1:29633")
    args = parser.parse_args()
    args.gpus = torch.cuda.device_count()
    args.distributed = args.gpus * args.nodes > 1
    if args.distributed:
        mp.spawn(main_worker, nprocs=args.gpus, args=(args,))
    else:
        main_worker(0, args)


if __name__ == "__main__":
    main()
