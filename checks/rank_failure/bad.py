"""One label of the data is out of range; the rank whose part it is in fails, and takes the others along."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def load_data(rows=120, classes=5):
    x = torch.randn(rows, 8, generator=torch.Generator().manual_seed(0))
    labels = x[:, :classes].argmax(dim=1)
    labels[5] = classes
    return TensorDataset(x, labels)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        dataset = load_data()
        sampler = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=15, sampler=sampler)
        model = DDP(nn.Linear(8, 5).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            for inputs, labels in loader:
                scores = model(inputs.to(device))
                loss = nn.functional.cross_entropy(scores, labels.to(device))  # <- rank-failure
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
