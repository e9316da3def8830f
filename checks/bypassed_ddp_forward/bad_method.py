"""DDP has no ``loss`` method, so it is called on ``.module``: with it goes the hook on DDP's forward."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class VariationalAutoencoder(nn.Module):
    def __init__(self, width=20, latent=4):
        super().__init__()
        self.encoder = nn.Linear(width, 2 * latent)
        self.decoder = nn.Linear(latent, width)

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(z), mean, log_variance

    def loss(self, x):
        decoded, mean, log_variance = self(x)
        divergence = 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum(dim=1).mean()
        return nn.functional.mse_loss(decoded, x) + 0.01 * divergence


def worker(rank, args):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=args.url, rank=rank, world_size=args.gpus)
    try:
        dataset = TensorDataset(torch.randn(240, 20, generator=torch.Generator().manual_seed(0)))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=24, sampler=sampler)
        vae = DistributedDataParallel(VariationalAutoencoder().to(rank), device_ids=[rank])
        optimizer = torch.optim.AdamW(vae.parameters(), lr=args.lr)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for (batch,) in loader:
                loss = vae.module.loss(batch.to(rank))  # <- bypassed-ddp-forward
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    parser.add_argument("--url", default="tcp://127.0.0.1:29621")
    parser.add_argument("--lr", type=float, default=1e-3)
    options = parser.parse_args()
    mp.spawn(worker, args=(options,), nprocs=options.gpus)
