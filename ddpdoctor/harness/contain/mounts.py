"""Which filesystems are mounted where."""

import re
from collections.abc import Iterator, Mapping

PSEUDO = frozenset(
    {
        *("autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs"),
        *("efivarfs", "fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs"),
        *("selinuxfs", "sysfs", "tracefs"),
    }
)
"""Filesystems that hold no user's files: they are shown as they are and cannot be written."""


class Mounts:
    """The mount points of this process, each with the type of the filesystem that is seen there."""

    def __init__(self, table: str) -> None:
        """Take the text of ``/proc/self/mountinfo``."""
        self.types: Mapping[str, str] = dict(map(_entry, table.splitlines()))

    @classmethod
    def here(cls) -> "Mounts":
        """Return the mounts of this process."""
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return cls(file.read())

    def is_pseudo(self, path: str) -> bool:
        """Whether a path is the mount point of a filesystem that holds no user's files."""
        return self.types.get(path) in PSEUDO

    def inside(self, path: str) -> Iterator[str]:
        """Yield the mount points beneath a path that are in no other one beneath it."""
        prefix = path.rstrip("/") + "/"
        beneath = {point for point in self.types if point.startswith(prefix) and point != path}
        for point in sorted(beneath):
            if not any(point.startswith(f"{other}/") for other in beneath):
                yield point


def _entry(line: str) -> tuple[str, str]:
    left, _, right = line.partition(" - ")
    return _unescaped(left.split(" ")[4]), right.split(" ", 1)[0]


def _unescaped(path: str) -> str:
    """Undo the kernel's octal escapes: a space is written as a backslash and 040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)
