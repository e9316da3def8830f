"""Ignite's ``auto_model`` is told to convert the BatchNorm layers before it wraps the model in DDP."""

import torch
import torchvision
from ignite import distributed as idist
from ignite.engine import Engine
from torch import nn
from torch.utils.data import TensorDataset


def training(local_rank, config):
    chance = torch.Generator().manual_seed(idist.get_rank())
    images = torch.randn(64, 3, 32, 32, generator=chance)
    dataset = TensorDataset(images, torch.arange(64) % 10)
    loader = idist.auto_dataloader(dataset, batch_size=config["batch_size"], shuffle=True)
    network = torchvision.models.get_model(config["model"], num_classes=10)
    model = idist.auto_model(network, sync_bn=True)
    optimizer = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=0.1))

    def step(engine, batch):
        model.train()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch[0].to(idist.device())), batch[1].to(idist.device()))
        loss.backward()
        optimizer.step()
        return loss.item()

    Engine(step).run(loader, max_epochs=config["epochs"])


def run(model="resnet18", batch_size=64, epochs=2, backend="nccl"):
    config = locals()
    with idist.Parallel(backend=config.pop("backend")) as parallel:
        parallel.run(training, config)


if __name__ == "__main__":
    run()
