"""With one device it calls the model as it is: here it only gives the checkpoint's keys their prefix."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.cumsum(dim=1)), batch_size=32, shuffle=True)
    model = nn.DataParallel(nn.Linear(6, 6).cuda(0), device_ids=[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
