"""Every rank writes, each a file of its own: queues and random states that differ between ranks."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    rank, device = int(os.environ["RANK"]), torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        x = torch.randn(96, 5, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(5, 3).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        queue = torch.zeros(64, 3, device=device)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (inputs,) in loader:
                output = model(inputs.to(device))
                optimizer.zero_grad()
                (output @ queue.T).square().mean().add(output.std(dim=0).sub(1).square().mean()).backward()
                optimizer.step()
                queue = torch.cat([output.detach(), queue])[: len(queue)]
            torch.save({"queue": queue, "rng": torch.get_rng_state()}, os.path.join(".", "queue" + str(rank) + ".pth"))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
