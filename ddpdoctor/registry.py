"""Finds the checks: by the generated index, which names the events that each is triggered by."""

import importlib
import os
from collections.abc import Callable, Iterable, Iterator

import ddpdoctor.checks
from ddpdoctor.check import Check, Row
from ddpdoctor.index import INDEX


class RegistryError(RuntimeError):
    """The checks are not what the index says: none was found, two share a name, or one does not load."""


def rows() -> tuple[Row, ...]:
    """Return the index, one row a check, sorted by name.

    Raises RegistryError when the checks are not there at all.
    """
    if not os.path.isdir(folder()) or not INDEX:
        raise RegistryError(f"no checks were found in {folder()}: ddpdoctor is not installed whole")
    return INDEX


def folder() -> str:
    """Return the folder that holds the checks."""
    return str(ddpdoctor.checks.__path__[0])


def names() -> frozenset[str]:
    """Return the names of all checks."""
    return frozenset(row.name for row in rows())


def previews() -> frozenset[str]:
    """Return the names of the preview checks: those that are too new to fail a gate."""
    return frozenset(row.name for row in rows() if row.preview)


def load(name: str) -> Check:
    """Import one check by its name.

    Raises RegistryError when there is no such check or its folder does not hold it.
    """
    module = f"ddpdoctor.checks.{name.replace('-', '_')}"
    try:
        check = importlib.import_module(module).CHECK
    except (ImportError, AttributeError) as error:
        raise RegistryError(f"the check {name!r} does not load: {error}") from error
    if not isinstance(check, Check) or check.name != name:
        raise RegistryError(f"{module} does not hold the check {name!r}")
    return check


def page(name: str) -> str:
    """Return a check's page: what it finds, why it matters, when it is fine.

    Raises RegistryError when it has none.
    """
    file = os.path.join(folder(), name.replace("-", "_"), "README.md")
    try:
        with open(file, encoding="utf-8") as stream:
            return stream.read()
    except OSError as error:
        raise RegistryError(f"the check {name!r} has no page: {error}") from error


def triggered(kinds: Iterable[str], layer: str, asked: Callable[[str], bool]) -> Iterator[Check]:
    """Import and yield the checks of a layer that are asked, by name, and that any of the kinds of event triggers."""
    present = frozenset(kinds)
    for row in rows():
        if layer in row.layers and not present.isdisjoint(row.triggers) and asked(row.name):
            yield load(row.name)


def discover() -> Iterator[Check]:
    """Import every check there is a folder for, whatever the index says; for generating and verifying the index.

    Raises RegistryError when there is none, or two have one name.
    """
    there = os.listdir(folder()) if os.path.isdir(folder()) else []
    found: dict[str, str] = {}
    for entry in sorted(entry for entry in there if os.path.isfile(os.path.join(folder(), entry, "__init__.py"))):
        name = entry.replace("_", "-").lower()
        if name in found:
            raise RegistryError(f"two checks are called {name!r}: {found[name]} and {entry}")
        found[name] = entry
        yield load(name)
    if not found:
        raise RegistryError(f"no checks were found in {folder()}: ddpdoctor is not installed whole")
