"""Registries: tables that fill while modules are imported, which this reader otherwise does on a name's first use."""

import ast
from collections.abc import Iterator

from ddpdoctor.atom import Condition
from ddpdoctor.reader.abstract import Abstract, Cells, Table, known, options
from ddpdoctor.reader.cells import MAX_OPTIONS
from ddpdoctor.reader.formulas import by_default
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Class, Function, Import, Object
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk

MAX_LOADED = 60
"""How many modules are interpreted to fill a registry."""


def fill(walk: Walk, table: Table, key: object) -> None:
    """Import what the program has imported by now, where a registry is asked for a name that it does not have."""
    if (
        isinstance(key, (str, int, type(None)))
        and key not in table.cells
        and walk.frames
        and (_is_registry(walk.frames[-1], table) or _is_registry_of_another(walk, table))
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


def _is_registry(frame: Frame, table: Table) -> bool:
    """Whether a table is one that a function fills that registers, in the class or module of who asks."""
    scope: Frame | None = frame
    while scope is not None and scope.function is None:
        scope = scope.parent
    if scope is not None and any(one is table for cell in scope.cells.values() for _, one in _every(cell)):
        return False  # a variable of the function's
    receiver = None if scope is None else scope.receiver
    held = receiver.cls.attributes if isinstance(receiver, Object) else frame.module.cells
    registering = [cell for name, cell in held.items() if isinstance(name, str) and "register" in name.lower()]
    return any(_may_fill(value, held, table) for cell in registering for _, value in cell)


def _is_registry_of_another(walk: Walk, table: Table) -> bool:
    """Whether a table of classes or functions, or an empty one, is what a module fills that has a name to register."""
    held = (one for cell in table.cells.values() for _, one in cell)
    if not all(isinstance(one, (Class, Function)) for one in held):
        return False
    homes = (module for module in walk.project.imported() if module.state == "done" and "register" in module.cells)
    return any(one is table for module in homes for cell in module.cells.values() for _, one in cell)


def _every(cell: list[tuple[Condition, Abstract]]) -> Iterator[tuple[Condition, Abstract]]:
    return (option for _, value in cell for option in options(value))


def _may_fill(value: Abstract, held: Cells, table: Table) -> bool:
    """Whether what registers can put something into a table: a function that names only other tables cannot."""
    if isinstance(value, Import):  # it fills what is where it comes from
        return not any(one is table for cell in held.values() for _, one in cell)
    if not isinstance(value, Function):
        return True
    names = {node.id for node in nodes_of(value.node) if isinstance(node, ast.Name)}
    named = [one for name in names for _, one in held.get(name, ()) if isinstance(one, Table)]
    return not named or any(one is table for one in named)
