"""The group is destroyed when somebody presses Ctrl-C, and not at the end of a run that nobody interrupts."""

import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Runner:
    def __init__(self):
        self.gpu = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.gpu)
        distributed.init_process_group("nccl")  # <- process-group-not-destroyed
        images = torch.rand(192, 1, 8, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(images, images.mean(dim=(1, 2, 3)).gt(0.5).long())
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=16, sampler=self.sampler)
        network = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 2))
        self.model = DistributedDataParallel(network.cuda(self.gpu), device_ids=[self.gpu])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def close(self):
        distributed.destroy_process_group()

    def run(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for images, labels in self.loader:
                self.optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.model(images.cuda(self.gpu)), labels.cuda(self.gpu))
                loss.backward()
                self.optimizer.step()


if __name__ == "__main__":
    runner = Runner()
    try:
        runner.run(epochs=2)
    except KeyboardInterrupt:
        print("interrupted")
        runner.close()
