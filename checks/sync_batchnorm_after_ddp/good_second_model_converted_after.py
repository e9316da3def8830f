"""The teacher is converted and wrapped, then the student: each before its own wrap, in text order after the first."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def network():
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))


def wrap(net, device):
    net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    return DDP(net.to(device), device_ids=[device.index])


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        teacher = wrap(network(), device)
        student = wrap(network(), device)
        x = torch.randn(192, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, torch.arange(192) % 3)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        optimizer = torch.optim.SGD([*teacher.parameters(), *student.parameters()], lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, labels in loader:
                inputs, labels = inputs.to(device), labels.to(device)
                taught, learned = teacher(inputs), student(inputs)
                loss = nn.functional.cross_entropy(taught, labels)
                loss = loss + nn.functional.kl_div(learned.log_softmax(1), taught.detach().softmax(1))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
