"""Copies of containers, options and modules: what a copy shares with its original, and what it does not."""

from ddpdoctor.reader.abstract import Abstract, Items, Known, Opaque, Table, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import choice
from ddpdoctor.reader.library.kinds import NAMESPACE, is_module
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk


def _copied(walk: Walk, call: Call) -> Abstract | None:
    value = call.receiver if not call.args else call.args[0]
    return None if value is None else choice((when, _copy(walk, option, call)) for when, option in options(value))


def _copy(walk: Walk, value: Abstract, call: Call, depth: int = 0) -> Abstract:
    """Return a copy; one of options or of a configuration says the same as the original where nothing is written."""
    if isinstance(value, Table):
        return Table({key: list(cell) for key, cell in value.cells.items()}, more=value.open)
    if isinstance(value, Items):
        return Items(value.items, value.kind, more=value.open)
    if isinstance(value, Object):
        ref = walk.ref(value.ref.type, call.node) if value.inner is not None or is_module(value) else value.ref
        made: Made | Object = Object(value.cls, ref)
    elif isinstance(value, Made) and (is_module(value) or value.path == NAMESPACE):
        ref = walk.ref(value.path, call.node) if is_module(value) else value.ref
        made = Made(value.path, ref, value.args, value.kwargs, value.tags)
    else:
        return value if isinstance(value, (Opaque, Known)) else walk.make(call)
    made.inner, made.home = value.inner, value.home
    made.attributes.update((name, list(cell)) for name, cell in value.attributes.items())
    if is_module(value):
        walk.handed_over.add(made.ref)  # the copy is where the original was
        _copy_parts(walk, value, made, call, depth)
    return made


MAX_COPIED = 6
"""How deep modules inside a copied module are copied."""


def _copy_parts(walk: Walk, value: "Made | Object", made: "Made | Object", call: Call, depth: int) -> None:
    """Give a copied module copies of the modules that are a part of the original."""
    if depth >= MAX_COPIED:
        return
    for name, cell in made.attributes.items():
        made.attributes[name] = [(when, _part_copied(walk, part, value, made, call, depth)) for when, part in cell]
    if isinstance(made, Made):
        made.args = tuple(_part_copied(walk, part, value, made, call, depth) for part in made.args)


def _part_copied(walk: Walk, part: Abstract, value: Abstract, made: Abstract, call: Call, depth: int) -> Abstract:
    if isinstance(part, Items):
        items = [_part_copied(walk, item, value, made, call, depth) for item in part.items]
        return Items(items, part.kind, more=part.open)
    if not isinstance(part, (Made, Object)) or part.owner is not value or not is_module(part):
        return part
    copied = _copy(walk, part, call, depth + 1)
    if isinstance(copied, (Made, Object)):
        copied.owner = made
    return copied


FUNCTIONS = {"copy.copy": _copied, "copy.deepcopy": _copied}
METHODS = {"copy": _copied}
