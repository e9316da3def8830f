"""Reads a program given as text and says what it predicts, in words that tests can compare."""

import textwrap
from pathlib import Path
from typing import TypeVar

from ddpdoctor import reader
from ddpdoctor.checkup import Project, Request
from ddpdoctor.condition import as_formula
from ddpdoctor.events import Event
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import holds_for
from ddpdoctor.world import WORLDS

E = TypeVar("E", bound=Event)

HEAD = """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler
"""


def read(folder: Path, text: str, head: str = HEAD, name: str = "train.py", **modules: str) -> Predicted:
    """Return the predicted trace of a program; further modules are given by name, ``__`` for a folder."""
    for module, source in modules.items():
        path = folder / f"{module.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
    script = folder / name
    script.write_text(head + textwrap.dedent(text), encoding="utf-8")
    (program,) = reader.read(str(script), str(folder))
    return program


def request_for(path: Path) -> Request:
    """Return the request that reads one file, seen from its folder."""
    project = Project(root=str(path.parent), paths=(str(path),))
    return Request(projects=(project,), directory=str(path.parent), source_only=True)


def ranks(event: Event, world: str = "torchrun") -> list[int]:
    """The ranks of a launch world that can reach an event."""
    formula = as_formula(event.when)
    return [member.rank for member in WORLDS[world] if holds_for(formula, member) is not False]


def only(events: tuple[E, ...]) -> E:
    """The one event there is."""
    assert len(events) == 1, events
    return events[0]
