"""Looks names up and gives them values: variables, unpacking, and what a variable's name says of an unknown value."""

import ast
import builtins
import re
import sys

from ddpdoctor.reader.abstract import Abstract, Choice, External, Items, Known, Opaque, options
from ddpdoctor.reader.cells import choice, read, write
from ddpdoctor.reader.formulas import boolean
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.imports import resolved, search_module
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.paths import canonical
from ddpdoctor.reader.tags import Tags
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.trees import last_name
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import Expression

RANK_NAMES = {
    **dict.fromkeys(
        ("rank", "global_rank", "world_rank", "ddp_rank", "process_index", "proc_rank", "dist_rank"), "rank"
    ),
    **dict.fromkeys(("local_rank", "localrank", "ddp_local_rank", "local_process_index", "gpu_rank"), "local_rank"),
    **dict.fromkeys(("world_size", "worldsize", "ddp_world_size", "num_processes"), "world_size"),
    **dict.fromkeys(("node_rank", "machine_rank", "noderank"), "node"),
}
"""What a name says of a value about which nothing else is known."""


LOW_RANK = ("lora", "adapter", "peft")
"""Where these stand in a value's name, its rank is that of a matrix."""


def hinted(name: str, tags: Tags, *, origin: str = "other", label: str | None = None) -> Opaque:
    """Return an unknown value with what its name says of it."""
    leaf = RANK_NAMES.get(name.lower())
    if leaf is None or any(word in (label or "").lower() for word in LOW_RANK):
        return Opaque(label or name, tags, origin=origin)
    touched = tags | ({"rank", "guessed"} if leaf != "world_size" else {"world", "guessed"})
    return Opaque(label or name, touched, origin="rank", expression=Expression(leaf))


_RANK_ASKED = re.compile(r"(?:get_)?(?:(?:global|world|dist|data_parallel|dp)_)?rank", re.IGNORECASE)
_FIRST_ASKED = re.compile(
    r"is_(?:global_)?(?:(?:main|master|primary|chief|leader)(?:_process|_rank|_node)?|rank_?(?:zero|0)|first_rank)",
    re.IGNORECASE,
)


def asked(walk: Walk, name: str, node: ast.AST) -> Abstract | None:
    """Return what the name of a function without arguments says of its result, where its code is not known.

    ``coordinator.is_master()`` and ``get_data_parallel_rank()`` of a library that is not part of the project.
    """
    if _RANK_ASKED.fullmatch(name):
        return Opaque(f"{name}()", frozenset({"rank", "guessed"}), origin="rank", expression=Expression("rank"))
    if not _FIRST_ASKED.fullmatch(name):
        return None
    first = Expression("==", (Expression("rank"), Expression("constant", (0,))))
    return boolean(walk.literal(f"{name}()", "rank", first, node))


def look_up(walk: Walk, name: str, frame: Frame) -> Abstract:
    """Return the value of a name as Python finds it: local, enclosing, module, builtin."""
    scope: Frame | None = frame
    if name in frame.globals:
        scope = None
    while scope is not None:
        cell = scope.cells.get(name)
        if cell is not None and (scope is frame or not scope.is_class):
            return resolved(walk, read(cell, walk.path))
        scope = scope.parent
    value = search_module(walk, frame.module, name)
    if value is not None:
        return value
    if hasattr(builtins, name):
        return External("builtins." + name)
    stars = (star for star in frame.module.stars if isinstance(star, str))
    brought = [star for star in stars if star.partition(".")[0] not in sys.stdlib_module_names]
    # a name from nowhere can only be one that a star import from outside brings
    return External(canonical(f"{brought[-1]}.{name}")) if brought else External("builtins." + name)


def store(walk: Walk, name: str, value: Abstract, frame: Frame) -> None:
    """Give a variable a value."""
    cells = frame.cells
    if name in frame.globals:
        cells = frame.module.cells
    elif name in frame.nonlocals:
        scope = frame.parent
        while scope is not None and name not in scope.cells:
            scope = scope.parent
        cells = scope.cells if scope is not None else cells
    write(cells, name, walk.path, value)


def assign(walk: Walk, target: ast.expr, value: Abstract, frame: Frame) -> None:
    """Give a target of an assignment a value."""
    if isinstance(target, ast.Name):
        store(walk, target.id, value, frame)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(walk, target.elts, value, frame, target)
    elif isinstance(target, ast.Starred):
        assign(walk, target.value, value, frame)
    elif isinstance(target, ast.Attribute):
        walk.set(walk.evaluate(target.value, frame), target.attr, value, target)
    elif isinstance(target, ast.Subscript):
        holder, key = walk.evaluate(target.value, frame), walk.evaluate(target.slice, frame)
        walk.tables.set_item(walk, holder, key, value, target)


def _unpack(walk: Walk, targets: list[ast.expr], value: Abstract, frame: Frame, node: ast.AST) -> None:
    starred = next((i for i, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
    for i, target in enumerate(targets):
        if starred is not None and i >= starred:
            item: Abstract = _tail(value, i, starred, len(targets))
        else:
            item = element(value, i, len(targets) if starred is None else None, last_name(target))
        assign(walk, target, item, frame)


def _tail(value: Abstract, i: int, starred: int, count: int) -> Abstract:
    """Return what a target at or after the starred one gets."""
    if isinstance(value, Items) and not value.open:
        after = count - starred - 1
        if i == starred:
            return Items(value.items[starred : len(value.items) - after])
        at = len(value.items) - (count - i)
        if 0 <= at < len(value.items):
            return value.items[at]
    rest = Opaque(f"rest of {text(value)}", value.tags)
    return Items([rest], more=True) if i == starred else rest


def element(value: Abstract, i: int, count: int | None = None, name: str = "") -> Abstract:
    """Return item i of a value that is unpacked into ``count`` targets; ``name`` is that of the target."""
    if isinstance(value, Object):
        value = value.fields_in_order() or value
    exact = isinstance(value, Items) and not value.open and (count is None or len(value.items) == count)
    if exact and isinstance(value, Items) and i < len(value.items):
        return value.items[i]
    if isinstance(value, Choice):
        fitting = [
            (condition, option)
            for condition, option in options(value)
            if not isinstance(option, Items) or option.open or count is None or len(option.items) == count
        ]
        return choice((condition, element(option, i, count, name)) for condition, option in fitting or options(value))
    if isinstance(value, Known) and isinstance(value.value, (tuple, str)) and i < len(value.value):
        return Known(value.value[i])
    if isinstance(value, Made) and value.path in GIVES_BACK and i < len(value.args):
        return value.args[i]
    if isinstance(value, Items) and value.items and value.open:
        return value.items[min(i, len(value.items) - 1)]
    tags = frozenset(tag for tag in value.tags if not (isinstance(tag, tuple) and tag[0] == "loader"))
    item = hinted(name, tags, label=f"{text(value)}[{i}]")
    usual = value.default if isinstance(value, Opaque) else None
    if isinstance(usual, Items) and not usual.open and count in (None, len(usual.items)):
        item.default = usual.items[i] if item.default is None and i < len(usual.items) else item.default
    return item


GIVES_BACK = frozenset({"apex.amp.initialize"})
"""Calls that return their arguments, wrapped or changed, in the same order."""
