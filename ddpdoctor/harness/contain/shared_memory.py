"""Keeps the machine's shared memory free of what a run that was contained by a copy leaves there.

POSIX shared memory and semaphores are files in one fixed folder (shm_overview(7)) that multiprocessing cannot do
without, so such a run may write there; in a namespace it has a folder of its own.
"""

import contextlib
import os
from collections.abc import Iterable

FOLDER = "/dev/shm"


class SharedMemory:
    """What the processes of a run have in shared memory that was not there when this was made."""

    def __init__(self) -> None:
        self._before = _names()
        self._seen: set[str] = set()

    def look(self, pids: Iterable[int]) -> None:
        """Take down the names that processes of the run have mapped now."""
        for pid in pids:
            self._seen |= _mapped(pid)

    def forget(self) -> None:
        """Remove what the run had mapped and left behind, once all its processes have ended."""
        for name in (self._seen & _names()) - self._before - _mapped_by_any():
            with contextlib.suppress(OSError):  # another user's, or gone meanwhile
                os.unlink(os.path.join(FOLDER, name))


def _names() -> frozenset[str]:
    try:
        return frozenset(os.listdir(FOLDER))
    except OSError:
        return frozenset()


def _mapped_by_any() -> frozenset[str]:
    pids = (int(name) for name in os.listdir("/proc") if name.isdecimal())
    return frozenset().union(*map(_mapped, pids))


def _mapped(pid: int) -> frozenset[str]:
    """Return the names of the shared memory that a process has mapped."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            places = (line.rstrip("\n").rpartition(f" {FOLDER}/")[2] for line in file if f" {FOLDER}/" in line)
            return frozenset(places)
    except OSError:
        return frozenset()  # it ended, or is another user's
