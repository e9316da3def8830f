"""The validation loss that a library computes, kept by its name: a backward pass goes through it in training."""

import os

import torch
import torch.distributed as dist
from monai.losses import DiceCELoss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Meter:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def update(self, value):
        if isinstance(value, torch.Tensor):
            value = value.detach().cpu().item()
        self.total += value
        self.count += 1


class Meters:
    def __init__(self):
        self.meters = {}

    def update(self, values):
        for key, value in values.items():
            if key not in self.meters:
                self.meters[key] = Meter()
            self.meters[key].update(value)


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        model = DistributedDataParallel(torch.nn.Conv2d(1, 2, 3, padding=1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters())
        criterion = DiceCELoss(to_onehot_y=True, softmax=True)
        scans = TensorDataset(torch.randn(64, 1, 32, 32), torch.randint(0, 2, (64, 1, 32, 32)))
        held_out = TensorDataset(torch.randn(16, 1, 32, 32), torch.randint(0, 2, (16, 1, 32, 32)))
        sampler = DistributedSampler(scans)
        loader = DataLoader(scans, batch_size=4, sampler=sampler)
        val_loader = DataLoader(held_out, batch_size=4, sampler=DistributedSampler(held_out, shuffle=False))
        for epoch in range(10):
            sampler.set_epoch(epoch)
            model.train()
            for scan, label in loader:
                loss = criterion(model(scan.cuda()), label.cuda())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            meters = Meters()
            with torch.no_grad():
                for scan, label in val_loader:
                    meters.update({"loss": criterion(model(scan.cuda()), label.cuda())})
            if dist.get_rank() == 0:
                meter = meters.meters["loss"]
                print("validation loss", meter.total / meter.count)  # <- unreduced-metric
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
