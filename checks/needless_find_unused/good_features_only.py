"""What is wrapped with it only gives features, without gradients: DDP walks no graph after such a forward."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        backbone = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU()).to(device)
        backbone = DDP(backbone, device_ids=[local_rank], find_unused_parameters=True)
        head = DDP(nn.Linear(32, 4).to(device), device_ids=[local_rank])
        optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
        backbone.eval()
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                with torch.no_grad():
                    features = backbone(x.to(device))
                nn.functional.cross_entropy(head(features), y.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
