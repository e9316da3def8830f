"""What the operating system says of a tree of processes: who descends from whom, and what each one uses."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

NEITHER_RUNS_NOR_LOADS = frozenset("SITZXt")
"""States of a process in which it neither runs nor waits for a disk: sleeping, idle, stopped, ended."""


class Usage(NamedTuple):
    """What a process has used since it began, and what it holds now.

    ``inner`` is its number in its own namespace, which is one of ``depth`` around each other. ``cpu`` are CPU seconds;
    where the kernel counts them, those in which the process could have run but others did are among them: so on a busy
    machine a process that computes is told from one that waits. ``transferred`` are the bytes read and written,
    ``memory`` the bytes that are its alone (not those of files, which the kernel can drop), and ``active`` says whether
    it runs or waits for a disk at this moment.
    """

    pid: int
    inner: int
    depth: int
    cpu: float
    transferred: int
    memory: int
    active: bool


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


def usages(pids: Iterable[int]) -> Iterator[Usage]:
    """Yield what each of the processes that still exist uses."""
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):  # it ended meanwhile
            yield _linux_usage(pid) if sys.platform == "linux" else _other_usage(pid)


def _parents() -> Iterator[tuple[int, int]]:
    if sys.platform != "linux":
        yield from ((int(pid), int(parent)) for pid, parent in _ps("pid=,ppid="))
        return
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                yield int(name), int(_stat(name)[1])


def _stat(pid: object) -> list[str]:
    """Return the fields of /proc/<pid>/stat from the third, the state, on (proc_pid_stat(5))."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def _linux_usage(pid: int) -> Usage:
    fields = _stat(pid)
    state, ticks = fields[0], int(fields[11]) + int(fields[12])
    if state == "Z":
        raise ProcessLookupError(f"process {pid} has ended; its parent has not looked yet")
    cpu = ticks / os.sysconf("SC_CLK_TCK")
    about = _table(f"/proc/{pid}/status")
    memory = sum(int(about[name].split()[0]) << 10 for name in ("RssAnon", "RssShmem") if name in about)
    numbers = about.get("NSpid", str(pid)).split()
    try:
        moved = _table(f"/proc/{pid}/io")
        transferred = int(moved["rchar"]) + int(moved["wchar"])
    except (OSError, KeyError):
        transferred = 0  # not readable: a process of another user's
    active = state not in NEITHER_RUNS_NOR_LOADS
    return Usage(pid, int(numbers[-1]), len(numbers), _demand(pid, cpu), transferred, memory, active)


def _demand(pid: int, cpu: float) -> float:
    """Return the seconds that the threads of a process ran or could have run (sched-stats: both in nanoseconds)."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                ran, waited, _ = file.read().split()
            total += int(ran) + int(waited)
    except (OSError, ValueError):
        return cpu  # a kernel without scheduler statistics
    # Threads that ended take their time along here and leave it in the process's own count.
    return max(cpu, total / 1e9)


def _table(path: str) -> dict[str, str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


def _other_usage(pid: int) -> Usage:
    """Ask ps (macOS; untested)."""
    resident, spent, state = next(iter(_ps("rss=,time=,stat=", pid)))
    cpu = 0.0
    for part in spent.replace("-", ":").split(":"):
        cpu = cpu * 60 + float(part)
    return Usage(pid, pid, 1, cpu, 0, int(resident) << 10, state[0] in "RU")


def _ps(columns: str, pid: int | None = None) -> Iterator[list[str]]:
    import subprocess

    command = ["ps", "-axo", columns] if pid is None else ["ps", "-o", columns, "-p", str(pid)]
    for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines():
        yield line.split()
