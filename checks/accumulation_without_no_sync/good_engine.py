"""Ignite's engine runs a function for each batch; only the last of four averages."""

import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from ignite.engine import Engine, Events
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

ACCUMULATED = 4


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        generator = torch.Generator().manual_seed(8)
        features = torch.randn(384, 12, generator=generator)
        data = TensorDataset(features, features.sum(1, keepdim=True))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(12, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

        def update(engine, batch):
            inputs, targets = batch
            steps = engine.state.iteration % ACCUMULATED == 0
            with nullcontext() if steps else model.no_sync():
                loss = nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()) / ACCUMULATED
                loss.backward()
            if steps:
                optimizer.step()
                optimizer.zero_grad()
            return loss.item()

        trainer = Engine(update)
        trainer.add_event_handler(Events.EPOCH_STARTED, lambda engine: sampler.set_epoch(engine.state.epoch))
        trainer.run(loader, max_epochs=3)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
