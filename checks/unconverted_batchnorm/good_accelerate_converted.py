"""The layers are converted before Accelerate wraps the model; the teacher is prepared too, and never trained."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator()
    x = torch.randn(320, 8, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    teacher = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 8)).eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model, optimizer, loader, teacher = accelerator.prepare(model, optimizer, loader, teacher)
    for epoch in range(3):
        for inputs, labels in loader:
            with torch.no_grad():
                wanted = teacher(inputs).softmax(dim=1)
            outputs = model(inputs)
            loss = nn.functional.cross_entropy(outputs, labels) + nn.functional.cross_entropy(outputs, wanted)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(f"epoch {epoch}: {loss.item():.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
