"""Node indices are split by rank before they reach the loader, as samplers over one big graph are used."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


class Neighbours:
    """Turns the indices of a batch into features: those of a node and the mean of the nodes that it points to."""

    def __init__(self, nodes=300, width=6):
        generator = torch.Generator().manual_seed(0)
        self.features = torch.randn(nodes, width, generator=generator)
        self.edges = torch.randint(nodes, (nodes, 4), generator=generator)
        self.labels = (self.features[self.edges].mean(dim=1)[:, 0] > 0).long()

    def __call__(self, indices):
        indices = torch.stack(indices)
        around = self.features[self.edges[indices]].mean(dim=1)
        return torch.cat([self.features[indices], around], dim=1), self.labels[indices]


def run(rank, world_size, graph):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29522")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    try:
        train_index = torch.arange(240)
        train_index = train_index.split(len(train_index) // world_size)[rank]
        loader = DataLoader(train_index, batch_size=20, shuffle=True, collate_fn=graph)
        model = DDP(nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2)).to(rank), device_ids=[rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(3):
            for features, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(features.to(rank)), labels.to(rank))
                loss.backward()
                optimizer.step()
            if rank == 0:
                print(f"epoch {epoch}: {loss.item():.4f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    world_size = torch.cuda.device_count()
    mp.spawn(run, args=(world_size, Neighbours()), nprocs=world_size)
