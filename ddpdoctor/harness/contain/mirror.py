"""Makes the throw-away copy of a folder that a run gets where the folder itself cannot be protected.

The copy is bounded in bytes, files and time. What lies beyond a bound, version control, virtual environments and
caches stand in the copy as links to the original, which can be read through them but not written.
"""

import os
import shutil
import stat
import time

from ddpdoctor.named import NamedTuple

COPY_BYTES = 256 << 20
"""A copy holds at most so many bytes."""

COPY_FILE = 16 << 20
"""A file of more bytes is linked: it is data, not code."""

COPY_FILES = 20_000
"""A copy holds at most so many files."""

COPY_SECONDS = 5.0
"""What was not copied after so many seconds is linked."""

LINKED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", ".tox", ".nox"})
"""Folders that a training script only reads."""


class Copied(NamedTuple):
    """What became of a copy: the ``files`` it holds, and those ``linked`` instead, relative to the folder."""

    files: int
    linked: tuple[str, ...]


def mirror(source: str, target: str) -> Copied:
    """Copy a folder; ``target`` does not exist yet.

    Folders near the top come first, so that a bound cuts off what is deep. Raises OSError when the folder itself
    cannot be read.
    """
    deadline = time.monotonic() + COPY_SECONDS
    files, size = 0, 0
    linked: list[str] = []
    os.mkdir(target)
    folders = [""]
    for folder in folders:
        try:
            entries = sorted(os.scandir(os.path.join(source, folder)), key=lambda entry: entry.name)
        except OSError:
            if not folder:
                raise
            continue
        for entry in entries:
            name = os.path.join(folder, entry.name)
            there = os.path.join(target, name)
            if f"{target}/".startswith(f"{entry.path}/"):
                continue  # the copy lies inside what is copied (a script in /tmp)
            spent = files >= COPY_FILES or time.monotonic() > deadline
            if entry.is_symlink():
                _link_again(entry.path, there, source)
            elif entry.is_dir():
                if spent or entry.name in LINKED or os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    os.symlink(entry.path, there)
                    linked.append(name)
                else:
                    os.mkdir(there)
                    folders.append(name)
            elif entry.is_file():
                bytes_ = entry.stat().st_size
                if spent or bytes_ > COPY_FILE or size + bytes_ > COPY_BYTES or not _copy(entry.path, there):
                    os.symlink(entry.path, there)
                    linked.append(name)
                else:
                    files, size = files + 1, size + bytes_
    return Copied(files, tuple(linked))


def shallow(source: str, target: str, deeper: frozenset[str]) -> None:
    """Make a folder that holds links to what another holds; those of its folders that are ``deeper`` are made likewise.

    So a home folder takes new files, beneath ``.cache`` too, and what is in it can be read.
    """
    os.mkdir(target)
    try:
        entries = tuple(os.scandir(source))
    except OSError:
        return
    for entry in entries:
        there = os.path.join(target, entry.name)
        if entry.name in deeper and entry.is_dir():
            shallow(entry.path, there, frozenset())
        else:
            os.symlink(entry.path, there)


def _copy(path: str, there: str) -> bool:
    try:
        shutil.copyfile(path, there)
        mode = stat.S_IMODE(os.stat(path).st_mode)
        os.chmod(there, mode | stat.S_IRUSR | stat.S_IWUSR)
    except OSError:
        return False  # not ours to read
    return True


def _link_again(path: str, there: str, source: str) -> None:
    """Recreate a symbolic link: as it is where it stays inside the copy, to the original place else."""
    to = os.readlink(path)
    end = os.path.normpath(os.path.join(os.path.dirname(path), to))
    inside = not os.path.isabs(to) and (end == source or end.startswith(f"{source}/"))
    os.symlink(to if inside else end, there)
