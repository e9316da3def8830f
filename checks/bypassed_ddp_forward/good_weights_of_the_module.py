"""``.module`` gives weights and attributes, to an average of the weights, to an optimizer and to a checkpoint."""

import copy
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.classes = classes
        self.body = nn.Sequential(nn.Linear(9, 32), nn.ReLU())
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.body(x))


@torch.no_grad()
def follow(average, model, decay=0.99):
    for slow, fast in zip(average.parameters(), model.module.parameters()):
        slow.lerp_(fast, 1 - decay)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        network = Net().to(device)
        average = copy.deepcopy(network).requires_grad_(False)
        model = DDP(network, device_ids=[device.index])
        model_without_ddp = model.module
        groups = [
            {"params": model_without_ddp.body.parameters(), "lr": 1e-3},
            {"params": model_without_ddp.head.parameters(), "lr": 1e-2},
        ]
        optimizer = torch.optim.AdamW(groups)
        x = torch.randn(160, 9, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, torch.arange(160) % model.module.classes)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device)).backward()
                nn.utils.clip_grad_norm_(model_without_ddp.parameters(), 1.0)
                optimizer.step()
                follow(average, model)
        if dist.get_rank() == 0:
            torch.save({"model": model_without_ddp.state_dict(), "average": average.state_dict()}, "net.pt")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
