"""The other ranks skip the rest of the epoch, and with it the broadcast of the learning rate that rank 0 decided on."""

import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train_epoch(model, loader, optimizer, gpu):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs.cuda(gpu)), labels.cuda(gpu))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.detach()


def main():
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    distributed.init_process_group("nccl")
    try:
        x = torch.randn(160, 10, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.argmax(dim=1))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=20, sampler=sampler)
        model = DistributedDataParallel(nn.Linear(10, 10).cuda(gpu), device_ids=[gpu])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        previous = float("inf")
        for epoch in range(3):
            sampler.set_epoch(epoch)
            loss = train_epoch(model, loader, optimizer, gpu)
            if distributed.get_rank() != 0:
                continue
            print(f"epoch {epoch}: {loss.item():.4f}")
            rate = torch.tensor([0.1 if loss.item() > previous else 0.5], device=f"cuda:{gpu}")
            distributed.broadcast(rate, src=0)  # <- rank-conditional-collective
            previous = loss.item()
            for group in optimizer.param_groups:
                group["lr"] = rate.item()
    finally:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
