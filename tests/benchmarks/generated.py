"""Writes projects of any size in the style that people train in: a script, and packages of models, data and loops."""

from pathlib import Path

HEAD = '''\
"""Part {number} of a project that nobody wrote."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
'''

MODEL = '''

class Block{number}(nn.Module):
    """A block of layers."""

    def __init__(self, channels, depth={depth}):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(channels, channels) for _ in range(depth)])
        self.norm = nn.LayerNorm(channels)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)) + x
        return self.norm(x)
'''

LOOP = '''

def mean_of_{number}(value):
    """Return the mean of a value over the ranks."""
    if not dist.is_initialized():
        return value
    total = torch.tensor(float(value))
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def train_{number}(args, dataset, model, optimizer):
    """Train one model for some epochs."""
    model = DistributedDataParallel(model, device_ids=[args.gpu])
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler, num_workers=args.workers)
    best = 0.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        losses = []
        for step, (images, labels) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if step % args.print_freq == 0 and dist.get_rank() == 0:
                print(f"epoch {{epoch}} step {{step}} loss {{losses[-1]:.3f}}")
        mean = mean_of_{number}(sum(losses) / max(len(losses), 1))
        if mean > best and dist.get_rank() == 0:
            best = mean
            torch.save(model.module.state_dict(), os.path.join(args.output, "part_{number}.pt"))
        dist.barrier()
    return best
'''

SCRIPT = '''\
"""Trains each part of the project in turn."""

import argparse
import os

import torch
import torch.distributed as dist

{imports}


def main():
    """Parse the options, start the process group and train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--print-freq", type=int, default=10)
    parser.add_argument("--output", default="out")
    args = parser.parse_args()
    args.gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(args.gpu)
    dist.init_process_group("nccl")
    try:
{calls}
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
'''

PARTS_IN_A_SCRIPT = 5


def write(folder: Path, lines: int) -> int:
    """Write a project of about so many lines; return how many it has."""
    package = folder / "parts"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    written, number = 0, 0
    while written < lines:
        text = HEAD.format(number=number)
        for depth in range(2, 5):
            text += MODEL.format(number=f"{number}_{depth}", depth=depth)
        text += LOOP.format(number=number)
        (package / f"part_{number}.py").write_text(text)
        written += text.count("\n")
        number += 1
        if number % PARTS_IN_A_SCRIPT == 0 or written >= lines:
            written += _script(folder, range((number - 1) // PARTS_IN_A_SCRIPT * PARTS_IN_A_SCRIPT, number))
    return written


def _script(folder: Path, numbers: range) -> int:
    imports = "\n".join(f"from parts.part_{n} import Block{n}_2, train_{n}" for n in numbers)
    calls = "\n".join(
        f"        model = Block{n}_2(8).cuda()\n"
        f"        train_{n}(args, torch.randn(64, 8), model, torch.optim.SGD(model.parameters(), lr=0.1))"
        for n in numbers
    )
    text = SCRIPT.format(imports=imports, calls=calls)
    (folder / f"train_{numbers.start}.py").write_text(text)
    return text.count("\n")
