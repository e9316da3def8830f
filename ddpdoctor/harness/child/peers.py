"""Tells the ranks of a run how long each other's epochs are, so that uneven ones stay uneven when they are cut."""

import os
import zlib
from collections.abc import Iterator

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.own_streams import open_file
from ddpdoctor.value import Ref

FOLDER = "lengths"
"""A folder of the run's that holds one file an epoch and rank."""


def key(loader: Ref, number: int) -> str:
    """Return a name for an epoch of a loader that is the same on all ranks."""
    return f"{zlib.crc32(repr((loader.place, loader.stack, loader.n)).encode()):08x}-{number}"


def announce(observer: Observer, epoch: str, length: int) -> None:
    """Tell the other ranks the length of this rank's epoch, in batches."""
    rank = observer.recorder.rank
    if rank is None or observer.recorder.muted:
        return
    folder = os.path.join(observer.folder, FOLDER)
    os.makedirs(folder, exist_ok=True)
    unfinished = os.path.join(folder, f"{epoch}-{rank}~")
    with open_file(unfinished, "w", encoding="ascii") as file:
        file.write(str(length))
    os.replace(unfinished, unfinished[:-1])


def lengths(observer: Observer, epoch: str) -> Iterator[int]:
    """Yield the lengths that ranks have told so far.

    A rank that asks before its last step has trained in step with the others: they have all begun the epoch.
    """
    folder = os.path.join(observer.folder, FOLDER)
    try:
        names = [name for name in os.listdir(folder) if name.startswith(f"{epoch}-") and not name.endswith("~")]
    except OSError:
        return
    for name in names:
        with open_file(os.path.join(folder, name), encoding="ascii") as file:
            yield int(file.read())
