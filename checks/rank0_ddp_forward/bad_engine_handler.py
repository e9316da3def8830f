"""Rank 0 alone has Ignite evaluate at the end of an epoch, and the evaluation calls the wrapper."""

import os

import torch
import torch.distributed as dist
from ignite.engine import Engine, Events
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 12))
        self.layer = nn.Linear(12, 1)

    def forward(self, inputs):
        return self.layer(inputs * self.scale)


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
        model = DDP(Scaled().cuda(), device_ids=[local_rank])
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

        held_loader = DataLoader(data, batch_size=8)

        def test(engine, batch):
            model.eval()
            with torch.no_grad():
                return model(batch[0].cuda())  # <- rank0-ddp-forward

        evaluator = Engine(test)
        if local_rank == 0:
            trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda _: evaluator.run(held_loader))
        trainer.run(loader, max_epochs=3)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
