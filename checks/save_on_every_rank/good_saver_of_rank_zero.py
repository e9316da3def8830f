"""The saver is an object that only rank 0 has; on the others it is None."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class CheckpointSaver:
    def __init__(self, folder, keep=2):
        self.folder, self.keep, self.files = folder, keep, []
        os.makedirs(folder, exist_ok=True)

    def save(self, model, epoch):
        path = os.path.join(self.folder, f"{epoch}.pt")
        torch.save(model.module.state_dict(), path)
        self.files.append(path)
        while len(self.files) > self.keep:
            os.remove(self.files.pop(0))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        saver = None
        if dist.get_rank() == 0:
            saver = CheckpointSaver("checkpoints")
        x = torch.randn(96, 3, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.prod(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(3, 1).to(device), device_ids=[device.index])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
                optimizer.step()
            if saver is not None:
                saver.save(model, epoch)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
