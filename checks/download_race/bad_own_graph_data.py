"""A graph data set of the program's own: its base class calls what downloads and processes, on every rank."""

import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DistributedSampler
from torch_geometric.data import Data, InMemoryDataset, download_url
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool

FOLDER = Path(__file__).parent / "data"


class Molecules(InMemoryDataset):
    def __init__(self, root):
        super().__init__(root)  # <- download-race
        self.data, self.slices = torch.load(self.processed_paths[0], map_location="cpu")

    raw_file_names = "molecules.pt"
    processed_file_names = "graphs.pt"

    def download(self):
        download_url("https://example.com/molecules.pt", self.raw_dir)

    def process(self):
        rows = torch.load(self.raw_paths[0], map_location="cpu")
        graphs = [Data(x=x, edge_index=edges, y=y) for x, edges, y in rows]
        torch.save(self.collate(graphs), self.processed_paths[0])


class Classifier(nn.Module):
    def __init__(self, features, classes, width=32):
        super().__init__()
        self.first, self.second = GCNConv(features, width), GCNConv(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, x, edges, batch):
        x = self.first(x, edges).relu()
        return self.head(global_mean_pool(self.second(x, edges).relu(), batch))


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        dataset = Molecules(FOLDER)
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(Classifier(dataset.num_features, dataset.num_classes).to(device), device_ids=[local_rank])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(5):
            sampler.set_epoch(epoch)
            for graphs in loader:
                graphs = graphs.to(device)
                optimizer.zero_grad()
                logits = model(graphs.x, graphs.edge_index, graphs.batch)
                nn.functional.cross_entropy(logits, graphs.y).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
