"""``.module`` is called for evaluation and for sampling, where no gradient is wanted."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class LetterModel(nn.Module):
    def __init__(self, letters=27):
        super().__init__()
        self.embed = nn.Embedding(letters, 24)
        self.next = nn.Linear(24, letters)

    def forward(self, text):
        return self.next(self.embed(text))

    @torch.no_grad()
    def generate(self, start, length):
        text = start
        for _ in range(length):
            text = torch.cat([text, self(text[:, -1:])[:, -1].argmax(dim=1, keepdim=True)], dim=1)
        return text


def perplexity(model, text):
    model.eval()
    with torch.no_grad():
        scores = model(text[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
    model.train()
    return loss.exp().item()


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    try:
        text = torch.randint(27, (160, 12), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(text)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(LetterModel().to(device), device_ids=[device.index])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (batch,) in loader:
                batch = batch.to(device)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                start = torch.zeros(1, 1, dtype=torch.long, device=device)
                print(epoch, perplexity(model.module, text.to(device)), model.module.generate(start, 8).tolist())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
