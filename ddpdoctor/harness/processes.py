"""What the operating system says of a tree of processes: who descends from whom, and what each one uses."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator

from ddpdoctor.named import NamedTuple

NEITHER_RUNS_NOR_LOADS = frozenset("SITZXt")
"""States of a thread in which it neither runs nor waits for a disk: sleeping, idle, stopped, ended."""


class Thread(NamedTuple):
    """What a thread has used since it began.

    ``inner`` is its number in its own namespace, ``name`` what the system calls it, and ``cpu`` its CPU seconds; where
    the kernel counts them, those in which it could have run but others did are among them: so on a busy machine a
    thread that computes is told from one that waits. ``active`` when it runs or waits for a disk at this moment.
    """

    inner: int
    name: str
    cpu: float
    active: bool


class Usage(NamedTuple):
    """What a process has used since it began, and what it holds now.

    ``inner`` is its number in its own namespace, which is one of ``depth`` around each other. ``transferred`` are the
    bytes read and written, ``memory`` the bytes that are its alone (not those of files, which the kernel can drop).
    """

    pid: int
    inner: int
    depth: int
    threads: tuple[Thread, ...]
    transferred: int
    memory: int


class Census:
    """Asks the operating system about processes again and again, and remembers what does not change."""

    def __init__(self) -> None:
        self._inner: dict[int, int] = {}  # the numbers that threads know themselves by

    def usages(self, pids: Iterable[int]) -> Iterator[Usage]:
        """Yield what each of the processes that still exist uses."""
        for pid in pids:
            with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):  # it ended meanwhile
                yield self._linux_usage(pid) if sys.platform == "linux" else _other_usage(pid)

    def _linux_usage(self, pid: int) -> Usage:
        if _stat(f"/proc/{pid}")[1] == "Z":
            raise ProcessLookupError(f"process {pid} has ended; its parent has not looked yet")
        about = _table(f"/proc/{pid}/status")
        memory = sum(int(about[name].split()[0]) << 10 for name in ("RssAnon", "RssShmem") if name in about)
        numbers = about.get("NSpid", str(pid)).split()
        try:
            moved = _table(f"/proc/{pid}/io")
            transferred = int(moved["rchar"]) + int(moved["wchar"])
        except (OSError, KeyError):
            transferred = 0  # not readable: a process of another user's
        return Usage(pid, int(numbers[-1]), len(numbers), tuple(self._threads(pid)), transferred, memory)

    def _threads(self, pid: int) -> Iterator[Thread]:
        for name in os.listdir(f"/proc/{pid}/task"):
            folder, number = f"/proc/{pid}/task/{name}", int(name)
            with contextlib.suppress(OSError):  # it ended meanwhile
                thread, state, *fields = _stat(folder)
                if number not in self._inner:
                    numbers = _table(f"{folder}/status").get("NSpid", name).split()
                    self._inner[number] = int(numbers[-1])
                spent = (int(fields[10]) + int(fields[11])) / os.sysconf("SC_CLK_TCK")
                active = state not in NEITHER_RUNS_NOR_LOADS
                yield Thread(self._inner[number], thread, _demand(folder, spent), active)


def descendants(root: int) -> frozenset[int]:
    """Return the processes that descend from one, without itself."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [root]
    for pid in queue:
        below = children.get(pid, [])
        found += below
        queue += below
    return frozenset(found)


def _parents() -> Iterator[tuple[int, int]]:
    if sys.platform != "linux":
        yield from ((int(pid), int(parent)) for pid, parent in _ps("pid=,ppid="))
        return
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                yield int(name), int(_stat(f"/proc/{name}")[2])


def _stat(folder: str) -> list[str]:
    """Return the fields of a process's or thread's ``stat`` from the second on (proc_pid_stat(5)): name, state …"""
    with open(f"{folder}/stat", encoding="utf-8", errors="replace") as file:
        before, _, after = file.read().rpartition(")")
    return [before.partition("(")[2], *after.split()]


def _demand(folder: str, spent: float) -> float:
    """Return the seconds that a thread ran or could have run (sched-stats: both in nanoseconds)."""
    try:
        with open(f"{folder}/schedstat", encoding="ascii") as file:
            ran, waited, _ = file.read().split()
    except (OSError, ValueError):
        return spent  # a kernel without scheduler statistics
    return (int(ran) + int(waited)) / 1e9


def _table(path: str) -> dict[str, str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


def _other_usage(pid: int) -> Usage:
    """Ask ps (macOS; untested)."""
    resident, spent, state = next(iter(_ps("rss=,time=,stat=", pid)))
    cpu = 0.0
    for part in spent.replace("-", ":").split(":"):
        cpu = cpu * 60 + float(part)
    return Usage(pid, pid, 1, (Thread(0, "", cpu, state[0] in "RU"),), 0, int(resident) << 10)


def _ps(columns: str, pid: int | None = None) -> Iterator[list[str]]:
    import subprocess

    command = ["ps", "-axo", columns] if pid is None else ["ps", "-o", columns, "-p", str(pid)]
    for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines():
        yield line.split()
