"""A part of the model is fetched where the configuration gives a place for it: whether it does is not in the source."""

import json
import os
import sys

import requests
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

FLOW = "https://example.org/flow.pth"


class Net(nn.Module):
    def __init__(self, flow_path=None):
        super().__init__()
        self.flow = nn.Linear(6, 6)
        self.head = nn.Linear(6, 2)
        if flow_path:
            if not os.path.exists(flow_path):
                answer = requests.get(FLOW, timeout=60)
                open(flow_path, "wb").write(answer.content)
            self.flow.load_state_dict(torch.load(flow_path, map_location="cpu"))

    def forward(self, x):
        return self.head(self.flow(x))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(160, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.topk(2, dim=1).values)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(Net(config["flow"]).to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
