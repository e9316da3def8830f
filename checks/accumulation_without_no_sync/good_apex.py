"""apex's wrapper is told when not to average: ``disable_allreduce`` for all but the last micro-batch."""
# not run: it wants apex

import argparse
import os

import torch
import torch.distributed as dist
from apex import amp
from apex.parallel import DistributedDataParallel as DDP
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulation-steps", type=int, default=1)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(points, points.sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
        model = DDP(model, delay_allreduce=True)
        optimizer.zero_grad()
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for step, (inputs, targets) in enumerate(loader):
                last = (step + 1) % args.accumulation_steps == 0
                (model.enable_allreduce if last else model.disable_allreduce)()
                loss = nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()) / args.accumulation_steps
                with amp.scale_loss(loss, optimizer) as scaled:
                    scaled.backward()
                if last:
                    optimizer.step()
                    optimizer.zero_grad()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
