"""Functions that only compute with tensors: in a model's forward nothing is to be learnt from interpreting them.

Forwards, losses and what they call are most of the code of many a project, and are called again and again: in training,
in each evaluation, for each model that an option can choose. A call is *silent* when neither the function nor anything
that it can come to (by a name, by its object's attributes, by an argument) has a name to which a check could owe
something: all names of the library's models count, but for those in :data:`QUIET`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ddpdoctor.atom import Condition
from ddpdoctor.reader.abstract import Abstract, Choice, External, Items, Table, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.imports import resolved, search_module
from ddpdoctor.reader.library import function_model
from ddpdoctor.reader.library.kinds import WRAPPERS, is_module
from ddpdoctor.reader.library.modules import wrapped_by
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import THAT_MATTER, Bound, Class, Function, Import, Made, Object, Package, Partial
from ddpdoctor.reader.spoken import QUIET, words_of
from ddpdoctor.reader.walk import Walk

PURE, SILENT, LOUD = range(3)
"""What a function may do: compute alone, with a model's layers too, or something that a check may ask about."""


def is_silent(walk: Walk, function: Function, call: Call) -> bool:
    """Whether a call in a model's forward need not be interpreted: nothing of it would be seen in the trace.

    Where it matters which layers a forward computes with, those that have layers are interpreted.
    """
    bound = call.args[0] if call.args and isinstance(call.args[0], Object) else None
    worst = _of_function(walk, function, bound)
    for value in call.given():
        if worst < LOUD and value is not bound:
            worst = max(worst, _of_value(walk, value, words_of(function.node).taken))
    return worst == PURE or (worst == SILENT and not walk.layers_matter)


def _of_function(walk: Walk, function: Function, receiver: Object | None) -> int:
    """Return what a function may do, as a method of an object if it is one."""
    key = function.node, None if receiver is None else (receiver.ref, walk.in_wrapper)
    known = walk.heard.get(key)
    if known is not None:
        return known
    walk.heard[key] = PURE  # what comes back to itself adds nothing
    worst = walk.heard[key] = _worst(_parts(walk, function, receiver))
    return worst


def _worst(parts: Iterable[int]) -> int:
    found = PURE
    for part in parts:
        found = max(found, part)
        if found == LOUD:
            break
    return found


def _parts(walk: Walk, function: Function, receiver: Object | None) -> Iterator[int]:
    words = words_of(function.node)
    if words.loud or function.on_first_rank or function.within:
        yield LOUD
        return
    if any(not name or walk.project.find(name.partition(".")[0]) is not None for name in words.imports):
        yield LOUD
    if receiver is None and not words.called.isdisjoint(words.own):
        yield LOUD
    if receiver is not None:
        for name in words.own:
            value = _attribute(walk, receiver, name)
            yield LOUD if value is None and name in words.called else _of_value(walk, value, words.taken, receiver)
    for name in words.names:
        value = _named(walk, function, name)
        yield LOUD if value is None and name in words.called else _of_value(walk, value, words.taken)
    for value in (*function.defaults, *function.keyword_defaults):
        yield _of_value(walk, value, words.taken)


def _attribute(walk: Walk, receiver: Object, name: str) -> Abstract | None:
    cell = receiver.attributes.get(name)
    return class_attribute(walk, receiver.cls, name) if cell is None else _any_of(cell)


def _any_of(cell: list[tuple[Condition, Abstract]]) -> Abstract:
    """Return all that a cell can hold, under whatever condition."""
    return cell[0][1] if len(cell) == 1 else Choice(tuple(cell))


def _named(walk: Walk, function: Function, name: str) -> Abstract | None:
    """Return what a name that a function has means outside its body; its own variables are no news."""
    scope = function.frame
    while scope is not None:
        cell = scope.cells.get(name)
        if cell is not None:
            return resolved(walk, _any_of(cell))
        scope = scope.parent  # type: ignore[assignment]
    return search_module(walk, function.module, name)


def _of_value(walk: Walk, value: Abstract | None, taken: frozenset[str], receiver: Object | None = None) -> int:
    """Return what code may do that is given a value and takes some attributes of what it has."""
    if isinstance(value, Function):
        return _of_function(walk, value, receiver if value.kind not in ("staticmethod", "classmethod") else None)
    reader = None if value is None else _READERS.get(type(value))
    return PURE if reader is None or value is None else reader(walk, value, taken)


def _bound(walk: Walk, value: Bound, taken: frozenset[str]) -> int:
    return _of_function(walk, value.function, value.receiver if isinstance(value.receiver, Object) else None)


def _object(walk: Walk, value: Object, taken: frozenset[str]) -> int:
    """Of an object everything may be called that is taken of anything, and it itself."""
    key = value.ref, (taken, walk.in_wrapper)
    known = walk.heard.get(key)
    if known is not None:
        return known
    module = is_module(value)
    least = SILENT if module else PURE
    walk.heard[key] = least
    if (value.inner is not None and not module) or _is_wrapped(walk, value):
        return LOUD
    names = taken | {"forward", "__call__"}
    methods = (class_attribute(walk, value.cls, name) for name in names if name not in value.attributes)
    worst = _worst(_of_function(walk, method, value) for method in methods if isinstance(method, Function))
    walk.heard[key] = worst = max(worst, least)
    return worst


def _is_wrapped(walk: Walk, value: "Object | Made") -> bool:
    """Whether a module is in a wrapper that the forward did not come through."""
    return walk.in_wrapper == 0 and bool(wrapped_by(walk, value))


def _made(walk: Walk, value: Made, taken: frozenset[str]) -> int:
    if value.path in WRAPPERS or value.path.startswith(THAT_MATTER):
        return LOUD
    if not is_module(value):
        return PURE
    if _is_wrapped(walk, value):
        return LOUD
    parts = [part for given in (*value.args, *value.kwargs.values()) for _, part in options(given)]
    return max(SILENT, _worst(_of_value(walk, part, frozenset()) for part in parts))


def _class(walk: Walk, value: Class, taken: frozenset[str]) -> int:
    """Of a class, a new object may be made; those of autograd have their own forward and backward."""
    names = {"__init__", "__new__", "__post_init__", *taken}
    if any(base.endswith("Function") for base in value.external_bases()):
        names |= {"forward", "backward"}
    methods = (class_attribute(walk, value, name) for name in names)
    return _worst(_of_function(walk, method, None) for method in methods if isinstance(method, Function))


def _choice(walk: Walk, value: Choice, taken: frozenset[str]) -> int:
    return _worst(_of_value(walk, option, taken) for _, option in value.options)


def _items(walk: Walk, value: Items, taken: frozenset[str]) -> int:
    return _worst(_of_value(walk, item, taken) for item in value.items)


def _table(walk: Walk, value: Table, taken: frozenset[str]) -> int:
    return _worst(_of_value(walk, item, taken) for cell in value.cells.values() for _, item in cell)


def _external(walk: Walk, value: External, taken: frozenset[str]) -> int:
    path = value.path
    leaf = path.rpartition(".")[2]
    if path.startswith("torch.nn.") or leaf in QUIET:
        return PURE
    return LOUD if function_model(path) is not None else PURE


def _package(walk: Walk, value: Package, taken: frozenset[str]) -> int:
    return _worst(_of_value(walk, _of_module(walk, value.module, name), taken) for name in taken)


def _of_module(walk: Walk, module: Module, name: str) -> Abstract | None:
    walk.load(module)
    return search_module(walk, module, name) if name in module.cells or module.stars else None


def _import(walk: Walk, value: Import, taken: frozenset[str]) -> int:
    found = resolved(walk, value)
    return PURE if isinstance(found, Import) else _of_value(walk, found, taken)


def _partial(walk: Walk, value: Partial, taken: frozenset[str]) -> int:
    return _worst(_of_value(walk, part, taken) for part in (value.function, *value.args, *value.kwargs.values()))


_READERS: dict[type[Abstract], Callable[[Walk, Any, frozenset[str]], int]] = {
    Bound: _bound,
    Object: _object,
    Made: _made,
    Class: _class,
    Choice: _choice,
    Items: _items,
    Table: _table,
    External: _external,
    Package: _package,
    Import: _import,
    Partial: _partial,
}
