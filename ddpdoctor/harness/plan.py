"""What is to be run and how: the order that the parent gives to the children, and the answer it brings home."""

from collections.abc import Mapping

from ddpdoctor.layer import LayerState
from ddpdoctor.record import Record
from ddpdoctor.trace import Observed


class Plan(Record):
    """One run of a user's script.

    ``style`` is ``spawn`` (the script starts its ranks itself: one process is started), ``torchrun`` (one process a
    rank, with torchrun's variables) or ``single``. ``layers`` are the layers the run serves: with ``model`` alone it
    stops at the first optimiser step, with ``probe`` after ``steps`` optimiser steps an epoch in ``epochs`` epochs.
    ``timeout`` is in seconds, for the whole run. ``backend`` is ``auto``, ``redirect`` (CUDA and NCCL calls go to the
    CPU and gloo) or ``native`` (they are left alone).

    ``containment`` is ``auto`` or forces one way to protect the user's files: ``overlay`` (as root where that works,
    else in a user namespace), ``rootless`` (the overlay in a user namespace in any case), ``copy`` (a throw-away copy
    under Landlock) or ``sandbox`` (the same under macOS's sandbox-exec). ``memory`` is the number of bytes that the run
    may use; ``None`` stands for what the machine has to spare.
    """

    script: str  # absolute
    arguments: tuple[str, ...] = ()
    directory: str  # the working directory, absolute
    style: str
    layers: frozenset[str]
    ranks: int = 2
    steps: int = 3
    epochs: int = 2
    timeout: float = 120.0
    backend: str = "auto"
    containment: str = "auto"
    memory: int | None = None


class Observation(Record):
    """What a run brought home: its trace (``None`` when no rank did anything) and what became of each layer."""

    trace: Observed | None
    layers: Mapping[str, LayerState]
    seconds: float = 0.0
