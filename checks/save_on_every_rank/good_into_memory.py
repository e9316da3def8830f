"""Every rank measures the size of its state in memory; the file is rank 0's."""

import io
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def serialised(state):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(96, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.exp())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(3, 3).to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
        state = serialised({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()})
        if dist.get_rank() == 0:
            with open("state.pt", "wb") as file:
                file.write(state)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
