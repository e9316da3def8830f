"""A module of the project: its file, its names, and whether importing it does something."""

import os
from functools import lru_cache

from ddpdoctor.reader.abstract import Cells, Known
from ddpdoctor.reader.source import Source, SourceFault, load

EFFECTS = (b"environ", b"putenv", b"cuda", b"init_process_group")
"""What code at a module's top level speaks of when it matters at the time of the import; other modules are read on
their first use."""


_DEFINING = (b"def ", b"class ", b"async ", b"import ", b"from ", b"@", b"#")


def _runs_effects(content: bytes) -> bool:
    """Whether code that an import runs speaks of effects: lines outside functions and classes.

    What puts folders on the path does it by a function, often; whoever has one calls it.
    """
    if b"sys.path" in content:
        return True
    if not any(word in content for word in EFFECTS):
        return False
    defining = False
    for line in content.splitlines():
        if line[:1] not in (b" ", b"\t", b""):
            defining = line.startswith(_DEFINING)
        if not defining and any(word in line for word in EFFECTS):
            return True
    return False


class Module:
    """A module of the project: ``state`` is ``new``, ``running`` or ``done``."""

    def __init__(self, name: str, file: str, *, is_package: bool = False, is_namespace: bool = False) -> None:
        self.name = name
        self.file = file
        self.is_package = is_package
        self.is_namespace = is_namespace  # a folder without __init__.py
        self.source: Source | None = None
        self.state = "new"
        self.cells: Cells = {"__name__": [(frozenset(), Known(name))], "__file__": [(frozenset(), Known(file))]}
        self.stars: list[Module | str] = []  # what it imports * from: modules of the project, or dotted paths
        self.widened: frozenset[str] = frozenset()  # attributes that are counted up somewhere in it

    def __repr__(self) -> str:
        return f"<module {self.name}>"

    def parse(self) -> SourceFault | None:
        """Read the file, once; return the fault that keeps it from being parsed.

        A folder without ``__init__.py`` (a namespace package) is an empty module.
        """
        if self.source is None:
            if self.is_namespace:
                self.source = Source(file=self.file, text="", tree=None)
            else:
                self.source = load(self.file)
        return self.source.fault

    def has_effects(self) -> bool:
        """Whether importing it does something that matters when it happens, as far as its text tells."""
        if self.is_namespace:
            return False
        if self.source is not None:
            return _runs_effects(self.source.text.encode("utf-8", "replace"))
        try:
            status = os.stat(self.file)
            return _file_runs_effects(self.file, status.st_mtime_ns, status.st_size)
        except OSError:
            return False


@lru_cache(maxsize=5_000)
def _file_runs_effects(file: str, _changed: int, _size: int) -> bool:
    with open(file, "rb") as stream:
        return _runs_effects(stream.read(MAX_PEEK))


MAX_PEEK = 400_000
