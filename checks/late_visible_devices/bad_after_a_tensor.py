"""The memory of the GPUs is looked at to choose among them, and looking is what makes the choice final."""

import os
from contextlib import contextmanager

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def largest_gpus(count):
    """Return the indices of the GPUs with the most memory."""
    memory = {i: torch.cuda.get_device_properties(i).total_memory for i in range(torch.cuda.device_count())}
    return sorted(sorted(memory, key=memory.get)[-count:])


@contextmanager
def process_group():
    chosen = largest_gpus(int(os.environ["LOCAL_WORLD_SIZE"]))
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, chosen))  # <- late-visible-devices
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    distributed.init_process_group("nccl", device_id=device)
    try:
        yield device
    finally:
        distributed.destroy_process_group()


def main():
    with process_group() as device:
        tokens = torch.randint(20, (144, 10), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(tokens)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20)).to(device)
        model = DistributedDataParallel(model, device_ids=[device.index])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (line,) in loader:
                line = line.to(device)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(line[:, :-1]).flatten(0, 1), line[:, 1:].flatten()).backward()
                optimizer.step()


if __name__ == "__main__":
    main()
