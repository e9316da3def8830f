"""With warm-up the gradients are unscaled first; after it nobody does."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=24):
    generator = torch.Generator().manual_seed(7)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(24, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cuda")
        for epoch in range(5):
            sampler.set_epoch(epoch)
            for features, target in loader:
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = nn.functional.mse_loss(model(features.cuda()), target.cuda())
                scaler.scale(loss).backward()
                if epoch < 1:
                    scaler.unscale_(optimizer)
                norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=2.0)  # <- clip-before-unscale
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
            if dist.get_rank() == 0:
                print(epoch, norm)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
