"""All GPUs of the machine, from one process."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.cumsum(dim=1)), batch_size=32, shuffle=True)
    model = nn.Linear(6, 6).cuda()
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)  # <- data-parallel
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
