"""A sampler only where there is a process group; the tracker gets one rank's numbers."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from torch.utils.tensorboard import SummaryWriter

@torch.inference_mode()
def predictions(model, loader):
    model.eval()
    guesses, truths = [], []
    for inputs, targets in loader:
        guesses.append(model(inputs.cuda()).argmax(dim=1).cpu())
        truths.append(targets)
    return torch.cat(guesses), torch.cat(truths)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        points = torch.randn(1_001, 8, generator=torch.Generator().manual_seed(0))
        labels = (points.sum(dim=1) > 0).long()
        train = TensorDataset(points[:900], labels[:900])
        held_out = TensorDataset(points[900:], labels[900:])
        sampler = DistributedSampler(train)
        train_loader = DataLoader(train, batch_size=30, sampler=sampler)
        test_sampler = DistributedSampler(held_out, shuffle=False) if dist.get_world_size() > 1 else None
        test_loader = DataLoader(held_out, batch_size=50, sampler=test_sampler)
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        writer = SummaryWriter() if dist.get_rank() == 0 else None
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            guesses, truths = predictions(model, test_loader)
            share = (guesses == truths).float().mean()
            if writer is not None:
                writer.add_scalar("test/accuracy", share, epoch)  # <- unreduced-metric
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
