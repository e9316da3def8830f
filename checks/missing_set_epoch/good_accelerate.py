"""Accelerate's prepared loader counts its epochs and tells the sampler; the script has nothing to call."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self):
        self.accelerator = Accelerator(mixed_precision="bf16")
        tokens = torch.randint(32, (256, 8), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(tokens, tokens.sum(dim=1) % 2)
        loader = DataLoader(dataset, batch_size=16, shuffle=True)
        model = nn.Sequential(nn.Embedding(32, 8), nn.Flatten(), nn.Linear(64, 2))
        optimizer = torch.optim.AdamW(model.parameters())
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)

    def fit(self, epochs):
        for _ in range(epochs):
            for tokens, labels in self.loader:
                with self.accelerator.accumulate(self.model):
                    loss = nn.functional.cross_entropy(self.model(tokens), labels)
                    self.accelerator.backward(loss)
                    self.optimizer.step()
                    self.optimizer.zero_grad()
        self.accelerator.end_training()


if __name__ == "__main__":
    Trainer().fit(epochs=3)
