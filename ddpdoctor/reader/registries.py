"""Registries: tables that fill while modules are imported, which this reader otherwise does on a name's first use."""

from ddpdoctor.reader.abstract import Abstract, Table, known
from ddpdoctor.reader.cells import MAX_OPTIONS
from ddpdoctor.reader.formulas import by_default
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Object
from ddpdoctor.reader.walk import Walk

MAX_LOADED = 60
"""How many modules are interpreted to fill a registry."""


def fill(walk: Walk, table: Table, key: object) -> None:
    """Import what the program has imported by now, where a registry is asked for a name that it does not have."""
    if (
        isinstance(key, (str, int, type(None)))
        and key not in table.cells
        and walk.frames
        and _is_registry(walk.frames[-1])
    ):
        _import_for(walk, table, key)


def fill_by_imports(walk: Walk, table: Table, key: Abstract) -> None:
    """Do so for what is certainly a registry."""
    name = known(by_default(key))
    _import_for(walk, table, name if isinstance(name, str) else None)


def _import_for(walk: Walk, table: Table, key: str | int | None) -> None:
    if _importing(walk):
        return
    tried: set[str] = set()
    word = _plain(key) if isinstance(key, str) else ""
    while key not in table.cells and len(tried) < MAX_LOADED and (word or len(table.cells) <= MAX_OPTIONS):
        waiting = next(
            (
                one
                for one in walk.project.imported()
                if one.state == "new" and one.file not in tried and _says(one, word)
            ),
            None,
        )
        if waiting is None:
            return
        tried.add(waiting.file)
        walk.load(waiting)


def _plain(text: str) -> str:
    """Return a text as it is compared with a name that may have been made of a class's."""
    return text.lower().replace("_", "").replace("-", "")


def _says(module: Module, word: str) -> bool:
    """Whether a word stands in a module: what is registered under a name mostly has it, or is called so itself."""
    return not word or (module.parse() is None and module.source is not None and word in _plain(module.source.text))


def _importing(walk: Walk) -> bool:
    """Whether a module of the project is being imported: it finds what was registered before it, no more."""
    return any(module.state == "running" for module in walk.project.imported())


def _is_registry(frame: Frame) -> bool:
    """Whether code stands beside a function that registers: in its class, or in its module."""
    scope: Frame | None = frame
    while scope is not None and scope.function is None:
        scope = scope.parent
    receiver = None if scope is None else scope.receiver
    names = list(receiver.cls.attributes) if isinstance(receiver, Object) else list(frame.module.cells)
    return any("register" in name.lower() for name in names if isinstance(name, str))
