"""Registries: tables that fill while modules are imported, which this reader otherwise does on a name's first use."""

from ddpdoctor.reader.abstract import Table
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.objects import Object
from ddpdoctor.reader.walk import Walk

MAX_LOADED = 60
"""How many modules are interpreted to fill a registry."""


def fill(walk: Walk, table: Table, key: object) -> None:
    """Import what the program has imported by now, where a registry is asked for a name that it does not have."""
    if (
        not isinstance(key, (str, int, type(None)))
        or key in table.cells
        or not walk.frames
        or not _is_registry(walk.frames[-1])
    ):
        return
    tried: set[str] = set()
    while key not in table.cells and len(tried) < MAX_LOADED:
        waiting = next((one for one in walk.project.imported() if one.state == "new" and one.file not in tried), None)
        if waiting is None:
            return
        tried.add(waiting.file)
        walk.load(waiting)


def _is_registry(frame: Frame) -> bool:
    """Whether code stands beside a function that registers: in its class, or in its module."""
    scope: Frame | None = frame
    while scope is not None and scope.function is None:
        scope = scope.parent
    receiver = None if scope is None else scope.receiver
    names = list(receiver.cls.attributes) if isinstance(receiver, Object) else list(frame.module.cells)
    return any("register" in name.lower() for name in names if isinstance(name, str))
