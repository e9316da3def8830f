"""Writes the events of one process, a line each, as they happen."""

import itertools
import os
import sys
import time
from array import array
from typing import Any

from ddpdoctor import codec
from ddpdoctor.events import MAIN, Cut, Event, Substituted
from ddpdoctor.harness.child.frames import UserFrames
from ddpdoctor.harness.child.own_streams import open_file
from ddpdoctor.harness.run_folder import events_path, indices_path
from ddpdoctor.place import Place

INLINE_INDICES = 64
"""Up to this many indices stand in the event itself; more go to a file of their own."""


class Recorder:
    """Writes events to this process's own file; after a fork the child's go to a file of the child's.

    ``rank`` and ``process`` are those of every event; ``muted`` drops all of them (a copy of the process that only
    tries something out).
    """

    def __init__(self, folder: str, began: float, frames: UserFrames) -> None:
        self.folder = folder
        self.rank: int | None = None
        self.process = MAIN
        self.muted = False
        self._began = began
        self._frames = frames
        self._orders = itertools.count(1)
        self._said: set[tuple[str, ...]] = set()
        self._file = -1
        self._pid = 0

    def now(self) -> float:
        """Return the seconds since the run began."""
        return round(time.monotonic() - self._began, 6)

    def write(
        self,
        kind: type[Event],
        *,
        at: tuple[Place, tuple[Place, ...]] | None = None,
        order: int | None = None,
        **fields: Any,
    ) -> int:
        """Write an event, at a given place and stack or where the user's code is now, and return its order.

        With the ``order`` of an event that was written before, it takes that event's place.
        """
        place, stack = at or self._frames.here()
        if order is None:
            order = next(self._orders)
        event = kind(
            place=place,
            stack=stack,
            process=self.process,
            order=order,
            rank=self.rank,
            time=self.now(),
            **fields,
        )
        if not self.muted:
            self._append(codec.dumps(event) + "\n")
        return order

    def next_order(self) -> int:
        """Take an order for an event that is written later."""
        return next(self._orders)

    def once(self, kind: type[Event], *key: str, **fields: Any) -> None:
        """Write an event unless one of the same kind and key was written before by this process."""
        if (kind.__name__, *key) not in self._said:
            self._said.add((kind.__name__, *key))
            self.write(kind, **fields)

    def substituted(self, what: str, by: str) -> None:
        """Say, once, that something was put in the place of what the script asked for."""
        self.once(Substituted, what, by, what=what, by=by)

    def cut(self, what: str, why: str) -> None:
        """Say, once, that something was ended early or left out."""
        self.once(Cut, what, why, what=what, why=why)

    def write_indices(self, order: int, indices: "array[int]") -> None:
        """Write the indices of an epoch to the file that belongs to the event of this order."""
        if sys.byteorder == "big":
            indices.byteswap()
        if not self.muted:
            with open_file(indices_path(self.folder, os.getpid(), order), "wb") as file:
                file.write(indices.tobytes())

    def _append(self, line: str) -> None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._file = os.open(
                events_path(self.folder, self._pid), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
        os.write(self._file, line.encode())
