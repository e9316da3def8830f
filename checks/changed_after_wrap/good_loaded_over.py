"""The first rank loads averaged weights to copy them; every rank then loads the checkpoint that training goes on from."""

import copy
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Classifier(nn.Module):
    def __init__(self, width=32, classes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def load(model, path, device):
    model.module.load_state_dict(torch.load(path, map_location=device, weights_only=True))
    return model.module


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = DDP(Classifier().to(device), device_ids=[local_rank])
        averaged = None
        if os.path.exists("weights.pt"):
            if dist.get_rank() == 0:
                averaged = copy.deepcopy(load(model, "averaged.pt", device))
            load(model, "weights.pt", device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
        if averaged is not None:
            print(sum(values.abs().sum().item() for values in averaged.state_dict().values()))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
