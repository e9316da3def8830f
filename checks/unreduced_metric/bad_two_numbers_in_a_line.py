"""Two numbers in a line, of which one is sometimes from processes of another package; each rank prints its own."""

import logging
import os

import numpy as np
import torch
import torch.distributed as dist
from joblib import Parallel, delayed
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


logger = logging.getLogger(__name__)


def ratings(rows):
    found = np.array(Parallel(n_jobs=4)(delayed(rate)(row) for row in rows))
    return None if -1 in found else torch.FloatTensor(found)


def rate(row):
    return float(row.std()) if row.any() else -1


@torch.no_grad()
def judge(model, inputs, targets):
    scores = model(inputs)
    rated = ratings(list(scores.cpu().numpy()))
    if rated is not None:
        harm = nn.functional.mse_loss(scores.mean(dim=1), rated.to(scores.device))
    else:
        harm = torch.tensor([0.0])
    return nn.functional.cross_entropy(scores, targets).item(), harm.item()


def evaluate(model, loader, rank):
    model.eval()
    losses = harms = 0.0
    for step, (inputs, targets) in enumerate(loader, start=1):
        loss, harm = judge(model, inputs.cuda(), targets.cuda())
        losses += loss
        harms += harm
    message = "GPU {}: loss {}, harm {}"
    logger.info(message.format(rank, losses / step, harms / step))  # <- unreduced-metric
    return losses / step


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
        test_loader = DataLoader(held_out, batch_size=50, sampler=DistributedSampler(held_out, shuffle=False))
        model = DDP(nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2)).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            sampler.set_epoch(epoch)
            model.train()
            for inputs, targets in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            evaluate(model, test_loader, dist.get_rank())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
