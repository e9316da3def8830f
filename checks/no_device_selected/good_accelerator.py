"""torch.accelerator selects the device and names the backend, whatever the accelerator is."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    index = int(os.environ["LOCAL_RANK"])
    torch.accelerator.set_device_index(index)
    accelerator = torch.accelerator.current_accelerator()
    dist.init_process_group(dist.get_default_backend_for_device(accelerator))
    try:
        device = torch.device(accelerator.type, index)
        x = torch.randn(160, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.norm(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)).to(device), device_ids=[index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
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
