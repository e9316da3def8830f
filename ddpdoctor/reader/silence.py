"""Functions that only compute with tensors: in a model's forward nothing is to be learnt from interpreting them.

Forwards, losses and what they call are most of the code of many a project, and are called again and again: in training,
in each evaluation, for each model that an option can choose. A call is *silent* when neither the function nor anything
that it can come to (by a name, by its object's attributes, by an argument) has a name to which a check could owe
something: all names of the library's models count, but for those in :data:`QUIET`.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from ddpdoctor.named import NamedTuple
from ddpdoctor.reader.abstract import Abstract, Choice, External, Items, Table, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.imports import resolved, search_module
from ddpdoctor.reader.library import FUNCTION_NAMES, METHOD_NAMES, function_model, tensors
from ddpdoctor.reader.library.kinds import WRAPPERS, is_module
from ddpdoctor.reader.library.modules import wrapped_by
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import THAT_MATTER, Bound, Class, Function, Import, Made, Object, Package, Partial
from ddpdoctor.reader.syntax import RANK_WORDS
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk

PURE, SILENT, LOUD = range(3)
"""What a function may do: compute alone, with a model's layers too, or something that a check may ask about."""

QUIET = frozenset(
    [
        *(name.rpartition(".")[2] for name in (*tensors.FUNCTIONS, *tensors.METHODS)),
        *("Dict", "OrderedDict", "add", "all", "any", "append", "apply", "bfloat16", "bool", "cast"),
        *("clamp_", "clip_", "compose", "copy", "cpu", "deepcopy", "defaultdict", "dict", "double"),
        *("endswith", "enumerate", "extend", "float", "format", "get", "half", "hasattr", "identity"),
        *("int", "isinstance", "item", "items", "iter", "join", "keys", "kaiming_normal_", "len", "list"),
        *("lower", "map", "max", "merge", "min", "normal_", "partial", "pop", "range", "replace"),
        *("reversed", "set", "setdefault", "sorted", "split", "startswith", "str", "strip", "sum", "to"),
        *("tolist", "tuple", "type", "uniform_", "update", "upper", "values", "zip", "forward", "index"),
        *("device", "insert"),
    ]
)
"""Names of functions and methods of which the library knows no more than what their value is, as long as what they are
called with are tensors, texts and containers."""
LOUD_NAMES = frozenset(name.rpartition(".")[2] for name in (*FUNCTION_NAMES, *METHOD_NAMES)) - QUIET
TOLD = RANK_WORDS | {"distributed", "dist", "environ", "hvd", "deepspeed", "accelerator", "exit", "globals"}
"""What code speaks of, called or not, when it has to do with several processes."""


SPOKEN_OF = frozenset({"requires_grad", "grad", "data", "training", "epoch", "weight", "require_backward_grad_sync"})
"""Attributes of anything of which a check may ask what they are given."""


class Words(NamedTuple):
    """What stands in a body: whether some of it is loud, and by which names it comes to other code.

    ``own`` are the attributes that are taken of the first parameter, ``taken`` those of anything else; ``called`` are
    the names and own attributes that are called by a name of the library's, ``imports`` the modules that it imports
    from itself, empty for one of its package.
    """

    loud: bool
    names: frozenset[str]
    own: frozenset[str]
    taken: frozenset[str]
    called: frozenset[str]
    imports: frozenset[str]


@lru_cache(maxsize=4_000)
def words_of(body: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda") -> Words:
    """Return what stands in a function's body."""
    spec = body.args
    first = next((arg.arg for arg in (*spec.posonlyargs, *spec.args)), "")
    names: set[str] = set()
    own: set[str] = set()
    taken: set[str] = set()
    called: set[str] = set()
    imports: set[str] = set()
    is_constructor = getattr(body, "name", "") == "__init__"
    loud = False
    for node in nodes_of(*([body.body] if isinstance(body, ast.Lambda) else body.body)):
        if isinstance(node, ast.Name):
            names.add(node.id)
            loud = node.id in TOLD
        elif isinstance(node, ast.Attribute):
            loud = node.attr in TOLD or node.attr == "module" or (_is_stored(node) and node.attr in SPOKEN_OF)
            (own if _is_of(node, first) else taken).add(node.attr)
        elif isinstance(node, ast.Call):
            name = _name_of(node.func)
            if name in LOUD_NAMES and (isinstance(node.func, ast.Name) or _is_of(node.func, first)):
                called.add(name)  # the project's own may be meant
            else:
                loud = name in LOUD_NAMES
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            loud = not is_constructor and _keeps(node, first)
        elif isinstance(node, ast.ImportFrom):
            imports.add("" if node.level else node.module or "")
        elif isinstance(node, ast.Import):
            imports.update(alias.name for alias in node.names)
        else:
            loud = isinstance(node, (ast.Global, ast.Nonlocal))
        if loud:
            break
    return Words(loud, *map(frozenset, (names, own, taken, called, imports)))


def _is_stored(node: ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _keeps(node: "ast.Assign | ast.AugAssign | ast.AnnAssign", first: str) -> bool:
    """Whether an assignment leaves something in the object of a method, besides a constant such as a flag."""
    if isinstance(node.value, ast.Constant):
        return False
    pending = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
    for target in pending:  # which grows meanwhile
        if isinstance(target, (ast.Tuple, ast.List)):
            pending += target.elts
        holder: ast.expr = target
        while isinstance(holder, (ast.Attribute, ast.Subscript)):
            holder = holder.value
        if holder is not target and isinstance(holder, ast.Name) and holder.id == first:
            return True
    return False


def _is_of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name


def _name_of(callee: ast.expr) -> str:
    return callee.id if isinstance(callee, ast.Name) else callee.attr if isinstance(callee, ast.Attribute) else ""


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
    if cell is not None:
        return cell[0][1] if len(cell) == 1 else Choice(tuple(cell))
    return class_attribute(walk, receiver.cls, name)


def _named(walk: Walk, function: Function, name: str) -> Abstract | None:
    """Return what a name that a function has means outside its body; its own variables are no news."""
    scope = function.frame
    while scope is not None:
        cell = scope.cells.get(name)
        if cell is not None:
            found = cell[0][1] if len(cell) == 1 else Choice(tuple(cell))
            return resolved(walk, found)
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
