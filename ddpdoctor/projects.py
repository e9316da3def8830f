"""Which project each file belongs to: the nearest folder above it that says that it is one."""

import os
from collections.abc import Iterable, Mapping

MARKERS = ("pyproject.toml", ".git", "setup.py")


def by_root(files: Iterable[str], named: Iterable[str], directory: str) -> Mapping[str, tuple[str, ...]]:
    """Return the files (all absolute) by the roots of their projects, in the order in which they are given.

    Where no folder above a file is marked, the root is the folder among ``named`` that holds it; else the working
    directory, when it does; else the file's own folder.
    """
    named = tuple(named)
    known: dict[str, str | None] = {}
    found: dict[str, list[str]] = {}
    for file in files:
        folder = os.path.dirname(file)
        root = _marked(folder, known)
        if root is None:
            root = next((outer for outer in (*named, directory) if lies_in(folder, outer)), folder)
        found.setdefault(root, []).append(file)
    return {root: tuple(inside) for root, inside in found.items()}


def _marked(folder: str, known: dict[str, str | None]) -> str | None:
    """Return the nearest marked folder, itself or above; ``known`` remembers it for every folder that was passed."""
    passed = []
    found: str | None = None
    while folder not in known:
        passed.append(folder)
        if _is_root(folder):
            found = folder
            break
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    else:
        found = known[folder]
    known.update(dict.fromkeys(passed, found))
    return found


def _is_root(folder: str) -> bool:
    for marker in MARKERS:
        if os.path.exists(os.path.join(folder, marker)):
            # A package inside another can have a setup.py of its own (numpy.distutils).
            return marker != "setup.py" or not os.path.exists(os.path.join(folder, "__init__.py"))
    return False


def lies_in(folder: str, outer: str) -> bool:
    """Whether a folder is another one, or is inside it."""
    return f"{folder}{os.sep}".startswith(outer.rstrip(os.sep) + os.sep)
