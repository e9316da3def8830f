"""The project has a ``dist`` of its own, whose all_gather talks to nobody: rank 0 may call it alone."""

import os

import torch
import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class LocalHistory:
    """Keeps what this process has seen; the names are those of an older library."""

    def __init__(self):
        self.rows = []

    def all_gather(self, row):
        self.rows.append(row)
        return self.rows

    def barrier(self):
        self.rows.clear()


dist = LocalHistory()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.sin())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(4, 4).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if torch.distributed.get_rank() == 0:
                print(dist.all_gather(f"epoch {epoch}: {loss.item():.4f}")[-1])
        if torch.distributed.get_rank() == 0:
            dist.barrier()
    finally:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
