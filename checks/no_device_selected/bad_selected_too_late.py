"""The GPU is selected only after the model has gone to one."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def build_model():
    model = nn.Sequential(nn.Embedding(40, 12), nn.Flatten(), nn.Linear(96, 2))
    return model.to("cuda")  # <- no-device-selected


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    try:
        model = build_model()
        torch.cuda.set_device(local_rank)
        tokens = torch.randint(40, (192, 8), generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(tokens, (tokens.sum(dim=1) > 156).long())
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        model = DDP(model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for sentence, label in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(sentence.to("cuda")), label.to("cuda")).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
