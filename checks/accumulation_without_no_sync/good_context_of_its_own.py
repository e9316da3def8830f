"""A context manager of the project decides, as its generator has two yields."""

import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=320, columns=12):
    generator = torch.Generator().manual_seed(2)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


@contextlib.contextmanager
def ddp_sync(module, sync):
    if sync or not isinstance(module, DDP):
        yield
    else:
        with module.no_sync():
            yield


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(12, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad(set_to_none=True)
                chunks = list(zip(features.cuda().chunk(2), target.cuda().chunk(2)))
                for i, (x, y) in enumerate(chunks):
                    with ddp_sync(model, i == len(chunks) - 1):
                        loss = nn.functional.mse_loss(model(x), y) / 2
                    loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
