"""What a loader's data set is made of, and what becomes of it in the loader's workers."""

import ast
from collections.abc import Iterator

from ddpdoctor.events import DatasetChanged
from ddpdoctor.reader.abstract import Abstract, Items, Table, options
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

MAX_DEPTH = 4
"""How deep data sets are looked for in data sets, and transforms in transforms."""


def parts(value: Abstract, depth: int = 0) -> Iterator["Made | Object"]:
    """Yield the objects that a data set is made of: itself, those it wraps, its transforms."""
    if depth > MAX_DEPTH:
        return
    for _, option in options(value):
        if isinstance(option, Items):
            inner = list(option.items[:MAX_ITEMS])
        elif isinstance(option, Table):
            inner = [cell[-1][1] for cell in list(option.cells.values())[:MAX_ITEMS]]
        elif isinstance(option, (Made, Object)):
            yield option
            inner = [held for cell in option.attributes.values() for _, held in cell if held is not option]
            if isinstance(option, Made):
                inner += [*option.args, *option.kwargs.values()]
        else:
            continue
        for one in inner:
            yield from parts(one, depth + 1)


MAX_ITEMS = 16


def copy_to_workers(walk: Walk, dataset: Abstract, loader: Ref) -> None:
    """Note that a loader's workers keep the copies of the data set that they began with for all epochs."""
    for part in parts(dataset):
        if isinstance(part, Object):
            walk.copied[part.ref] = loader


def changed(walk: Walk, value: Object, name: str, node: ast.AST) -> None:
    """Record that an attribute is written that the workers read from their copies, where they keep them."""
    loader = walk.copied.get(value.ref)
    if loader is None or not walk.loops:
        return
    drawn_with = walk.syntax.drawn_with(value.cls)
    frame = walk.frames[-1] if walk.frames else None
    by_itself = frame is not None and frame.receiver is value and walk.stack
    within = frame.function.name if frame is not None and by_itself and frame.function is not None else ""
    if name not in drawn_with or within in drawn_with:
        return
    place = walk.stack[-1] if by_itself else walk.place(node)
    walk.emit(DatasetChanged, node, place=place, dataset=value.ref, loader=loader, attribute=name)
