"""Ignite evaluates each rank's part of the data, and rank 0 prints the mean of its own."""

import os

import torch
import torch.distributed as dist
from ignite.engine import Engine, Events
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


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
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs.cuda()), targets.cuda())
            loss.backward()
            optimizer.step()
            return loss.item()

        trainer = Engine(update)

        @trainer.on(Events.EPOCH_STARTED)
        def reshuffle():
            sampler.set_epoch(trainer.state.epoch)

        @trainer.on(Events.ITERATION_COMPLETED(every=10))
        def tell(engine):
            if local_rank == 0:
                print(engine.state.epoch, engine.state.output)


        held_loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
        total = {"loss": 0.0, "n": 0}

        def test(engine, batch):
            model.eval()
            with torch.no_grad():
                inputs, targets = batch
                total["loss"] += nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).item()
                total["n"] += 1

        evaluator = Engine(test)

        @trainer.on(Events.EPOCH_COMPLETED)
        def validate(engine):
            evaluator.run(held_loader)
            if local_rank == 0:
                print("loss", total["loss"] / total["n"])  # <- unreduced-metric

        trainer.run(loader, max_epochs=3)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
