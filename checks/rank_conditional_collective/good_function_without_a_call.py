"""``if is_main_process:`` tests the function, not its answer: always true, so that every rank takes part."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def is_main_process():
    return dist.get_rank() == 0


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(96, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.tanh())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = DDP(nn.Linear(3, 3).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if is_main_process:
                mean = loss.detach().clone()
                dist.all_reduce(mean, dist.ReduceOp.AVG)
                if is_main_process():
                    print(f"epoch {epoch}: {mean.item():.4f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
