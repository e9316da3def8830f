"""Published weights that are fetched only where whoever sits before the terminal says so."""

import os
import urllib.request

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

WEIGHTS = "encoder.pt"


def encoder():
    if not os.path.exists(WEIGHTS):
        answer = input(f"Download {WEIGHTS}? [y]/n: ")
        if len(answer) == 0 or answer.lower() == "y":
            urllib.request.urlretrieve("https://example.com/encoder.pt", WEIGHTS)
    model = nn.Linear(8, 8)
    model.load_state_dict(torch.load(WEIGHTS, map_location="cpu"))
    return model


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    dataset = TensorDataset(torch.randn(128, 8), torch.randint(0, 8, (128,)))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(encoder().cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for features, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(features.cuda()), labels.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
