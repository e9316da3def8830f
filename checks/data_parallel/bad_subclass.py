"""A subclass that lets the model's own attributes through."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class OpenDataParallel(nn.DataParallel):
    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)


def main():
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.cumsum(dim=1)), batch_size=32, shuffle=True)
    model = OpenDataParallel(nn.Linear(6, 6).cuda())  # <- data-parallel
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
