"""A penalty on ``.module``'s weights is added to a loss that came through DDP: one backward, averaged as a whole."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def orthogonality(layer):
    gram = layer.weight @ layer.weight.T
    return (gram - torch.eye(len(gram), device=gram.device)).square().sum()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(160, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x @ torch.linalg.qr(x[:6])[0])
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DDP(nn.Linear(6, 6, bias=False).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                fit = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
                loss = fit + 0.1 * orthogonality(model.module)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
