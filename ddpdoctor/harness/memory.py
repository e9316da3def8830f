"""How much memory a run may use, and how much it will need."""

import os
import sys

RANK_BYTES = 420 << 20
"""What a process that imported torch and torchvision holds for itself before it has a model (375 MB measured with torch
2.14.1 on Linux; pages of shared libraries, 310 MB, are the same for all), with room for a small one."""

RESERVE_BYTES = 192 << 20
"""A run is ended when the machine has less than this left: before the kernel chooses a process to kill."""

SCRATCH_BYTES = 4 << 30
"""A run whose files are kept in memory may write at most this much, and at most a quarter of what is available."""

SCRATCH_LEAST = 64 << 20

_V1_UNLIMITED = 1 << 60  # what cgroup v1 says when there is no limit is close to 2**63, rounded to pages


def available(proc: str = "/proc", cgroups: str = "/sys/fs/cgroup") -> int:
    """Return the bytes that can still be used: what the machine has, and what the control groups leave of it."""
    if sys.platform != "linux":
        return _total() // 2  # macOS says how much there is, not how much is free (untested)
    free = _meminfo(proc)
    for limit, used in _control_groups(proc, cgroups):
        free = min(free, max(0, limit - used))
    return free


def needed(style: str, ranks: int) -> int:
    """Return the bytes that a run's processes need before there is any model."""
    return RANK_BYTES * (ranks + (style == "spawn"))


def scratch(free: int) -> int:
    """Return the bytes that a run may write, given those that are available."""
    return max(SCRATCH_LEAST, min(SCRATCH_BYTES, free // 4))


def oom_kills(proc: str = "/proc") -> int:
    """Return how many processes the kernel has killed for want of memory since it started, in any control group."""
    try:
        with open(f"{proc}/vmstat", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), 0)
    except OSError:
        return 0


def words(size: int) -> str:
    """Return a number of bytes for a person: ``1.3 GiB``."""
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size >> 20} MiB"


def _total() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _meminfo(proc: str) -> int:
    try:
        with open(f"{proc}/meminfo", encoding="ascii") as file:
            lines = list(file)
    except OSError:
        raise RuntimeError(f"how much memory is free cannot be told: {proc}/meminfo cannot be read") from None
    table = {name: int(value.split()[0]) << 10 for name, _, value in (line.partition(":") for line in lines)}
    return table.get("MemAvailable", table["MemFree"])


def _control_groups(proc: str, cgroups: str) -> list[tuple[int, int]]:
    """Return limit and use of the memory control groups that this process is in, and of those around them."""
    found = []
    try:
        with open(f"{proc}/self/cgroup", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    for _, controllers, path in lines:
        if controllers == "":
            found += [_version_2(f"{base}{group}") for base in (cgroups, f"{cgroups}/unified") for group in _up(path)]
        elif "memory" in controllers.split(","):
            found += [_version_1(f"{cgroups}/memory{group}") for group in _up(path)]
    return [pair for pair in found if pair is not None]


def _up(path: str) -> list[str]:
    """Return a control group's path and those around it; in a container only the innermost may be seen, as the root."""
    groups = [""]
    for part in path.strip("/").split("/"):
        if part:
            groups.append(f"{groups[-1]}/{part}")
    return groups


def _version_2(folder: str) -> tuple[int, int] | None:
    return _limit_and_use(folder, "memory.max", "memory.current", "inactive_file")


def _version_1(folder: str) -> tuple[int, int] | None:
    return _limit_and_use(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def _limit_and_use(folder: str, limit: str, use: str, reclaimable: str) -> tuple[int, int] | None:
    """Return the limit and what counts against it: files that were not used of late are dropped before any kill."""
    try:
        allowed = _read(f"{folder}/{limit}").strip()
        if not allowed.isdecimal() or int(allowed) >= _V1_UNLIMITED:
            return None
        table = dict(line.split(" ", 1) for line in _read(f"{folder}/memory.stat").splitlines())
        return int(allowed), int(_read(f"{folder}/{use}")) - int(table.get(reclaimable, 0))
    except (OSError, ValueError):
        return None


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()
