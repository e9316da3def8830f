"""Two experts, a process group for each: every rank routes by its own batch, and the ranks choose different experts."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Router:
    """Keeps the mean input of each expert, averaged over the ranks that use it."""

    def __init__(self, experts, width, device):
        self.groups = [dist.new_group() for _ in range(experts)]
        self.means = torch.zeros(experts, width, device=device)

    def choose(self, inputs):
        return int(inputs.mean().item() > 0)

    def update(self, inputs):
        expert = self.choose(inputs)
        mean = inputs.mean(dim=0)
        dist.all_reduce(mean, group=self.groups[expert])  # <- hang
        self.means[expert].lerp_(mean / dist.get_world_size(), 0.1)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(160, 6, generator=torch.Generator().manual_seed(0)) + (torch.arange(160) % 2 - 0.5).unsqueeze(1)
        dataset = TensorDataset(x, x.sigmoid())
        sampler = DistributedSampler(dataset, shuffle=False)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        router = Router(experts=2, width=6, device=device)
        model = DDP(nn.Linear(6, 6).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            for inputs, targets in loader:
                inputs, targets = inputs.to(device), targets.to(device)
                loss = nn.functional.mse_loss(model(inputs).sigmoid(), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                router.update(inputs)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
