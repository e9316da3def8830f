"""The model spreads its own layers over the GPUs, with the function instead of the wrapper."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(nn.Module):
    def __init__(self, gpus):
        super().__init__()
        self.gpus = gpus
        self.body = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 6))

    def forward(self, inputs):
        if inputs.is_cuda and self.gpus > 1:
            return nn.parallel.data_parallel(self.body, inputs, range(self.gpus))  # <- data-parallel
        return self.body(inputs)


def main():
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.cumsum(dim=1)), batch_size=32, shuffle=True)
    model = Network(torch.cuda.device_count()).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
