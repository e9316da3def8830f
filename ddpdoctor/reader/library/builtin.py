"""Builtins and the parts of the standard library that hand values on."""

import ast
from collections.abc import Callable
from typing import Any

from ddpdoctor.atom import ALWAYS
from ddpdoctor.condition import all_of, any_of
from ddpdoctor.reader.abstract import (
    NONE,
    Abstract,
    External,
    Items,
    Known,
    Opaque,
    Table,
    derived,
    is_none,
    known,
    options,
)
from ddpdoctor.reader.arguments import update_table
from ddpdoctor.reader.attributes import class_attribute, origin_of
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import choice, write
from ddpdoctor.reader.constants import NO_RESULT, computed
from ddpdoctor.reader.cuts import marks_of_range
from ddpdoctor.reader.formulas import boolean, number, truth_of
from ddpdoctor.reader.functions import run_body
from ddpdoctor.reader.lengths import lengths
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.objects import Bound, Function, Generator, Made, Object, Partial
from ddpdoctor.reader.operators import joined
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import constant


def _converted(kind: str, function: Callable[[Any], Any]) -> Callable[[Walk, Call], Abstract | None]:
    def model(walk: Walk, call: Call) -> Abstract | None:
        if len(call.args) != 1:
            return None
        return choice((when, _convert(kind, function, option)) for when, option in options(call.args[0]))

    return model


def _convert(kind: str, function: Callable[[Any], Any], value: Abstract) -> Abstract:
    if isinstance(value, Known):
        result = computed(function, value.value)
        return Opaque(f"{kind}({value!r})") if result is NO_RESULT else Known(result, value.written)
    if kind == "str":
        return joined([value])
    origin = getattr(value, "origin", "other")
    default = getattr(value, "default", None)
    return Opaque(
        text(value) if kind != "bool" else f"bool({text(value)})",
        value.tags,
        origin=origin,
        default=_convert(kind, function, default) if isinstance(default, Known) else default,
        expression=derived(kind, number(value)),
    )


def _text(walk: Walk, call: Call) -> Abstract | None:
    """``str(value)``: for an object of the project what its own method says."""
    if len(call.args) != 1:
        return None
    return choice(
        (when, _convert("str", str, spelt_out(walk, option, call.node))) for when, option in options(call.args[0])
    )


def spelt_out(walk: Walk, value: Abstract, node: ast.AST) -> Abstract:
    """Return the text of an object of the project as one piece; any other value as it is."""
    method = class_attribute(walk, value.cls, "__str__") if isinstance(value, Object) else None
    if not isinstance(method, Function):
        return value
    said = walk.call_with(Bound(method, value), node=node)
    return Opaque(text(said), said.tags)


def _len(walk: Walk, call: Call) -> Abstract | None:
    value = call.args[0] if call.args else None
    if isinstance(value, Items) and not value.open:
        return Known(len(value.items))
    if value is None:
        return None
    if isinstance(value, Known) and isinstance(value.value, (str, tuple)):
        return Known(len(value.value))
    flow = value.extra if isinstance(value, (Items, Table)) else value.tags  # how many there are, not what they hold
    tags = frozenset(tag for tag in flow if isinstance(tag, str) and tag != "data")
    sizes = lengths(walk, value) if isinstance(value, (Made, Opaque)) else ()
    known_one = constant(sizes[0]) if len(sizes) == 1 else None
    return Opaque(f"len({text(value)})", tags, origin=origin_of(value), expression=known_one)


def _listed(walk: Walk, call: Call) -> Abstract | None:
    """``list``, ``tuple``, ``set``, ``sorted``: the same items where they are known, else an object over them."""
    value = call.args[0] if call.args else None
    if value is None:
        return Items([], call.path.rpartition(".")[2])
    if isinstance(value, Items):
        return Items(value.items, call.path.rpartition(".")[2], more=value.open)
    if isinstance(value, Table):
        return Items([Known(key) for key in value.cells if isinstance(key, (str, int))], more=value.open)
    return walk.make(call)


def _dict(walk: Walk, call: Call) -> Abstract:
    table = Table()
    for value in call.args:
        update_table(walk, table, value)
    for key, value in call.kwargs.items():
        write(table.cells, key, ALWAYS, value)
    table.open = table.open or call.open
    return table


def _passed_on(walk: Walk, call: Call) -> Abstract:
    return walk.make(call)


def _iterator(walk: Walk, call: Call) -> Abstract | None:
    return walk.tables.iterator(walk, call) if call.args else None


def _range(walk: Walk, call: Call) -> Abstract:
    values = [known(arg) for arg in call.args]
    if len(values) == 1 and isinstance(values[0], int) and 0 <= values[0] <= 1:
        return Items([Known(i) for i in range(values[0])])
    made = walk.make(call, path="builtins.range")  # of ``tqdm.trange`` too, which draws it
    made.tags |= marks_of_range(call.args, walk.place(call.node))
    return made


def _next(walk: Walk, call: Call) -> Abstract | None:
    if not call.args:
        return None
    if isinstance(call.args[0], Generator):
        return _first_yield(walk, call.args[0])
    return walk.tables.item_of(walk, call.args[0], call.node)


def _next_of(walk: Walk, call: Call) -> Abstract | None:
    """``iterator.__next__()``, and ``iterator.next()`` of Python 2, which iterators of loaders had until torch 1.13."""
    iterator = call.receiver
    if isinstance(iterator, Generator) or (isinstance(iterator, Made) and iterator.path in ITERATORS):
        return _next(walk, call._replace(args=(iterator,)))
    return None


ITERATORS = frozenset({"builtins.iter", "builtins.enumerate", "builtins.zip", "itertools.cycle", "itertools.chain"})


def _first_yield(walk: Walk, generator: Generator) -> Abstract:
    """Run a generator's body and return what it yields first, as every later value is alike."""
    values: list[Abstract] = []

    def deliver(value: Abstract) -> Abstract:
        values.append(value)
        return NONE

    loops = walk.loops
    run_body(walk, generator.function, generator.call, deliver)
    walk.loops = loops
    return values[0] if values else Opaque(f"item of {generator.function.name}()", generator.tags)


def _sum(walk: Walk, call: Call) -> Abstract:
    return (_joined_lists(call.args[0]) if len(call.args) == 2 else None) or Opaque("sum", call.flow())


def _chain(walk: Walk, call: Call) -> Abstract | None:
    """``chain(conv_layers, norm_layers)``, ``chain.from_iterable(pairs)``: the layers in all of them."""
    of_one = call.path.endswith("from_iterable")
    lists = (call.args[0] if call.args else NONE) if of_one else Items(call.args, "tuple", more=call.open)
    return _joined_lists(lists)


def _joined_lists(lists: Abstract) -> Items | None:
    """Return the items of all of some lists, where these are layers."""
    if not isinstance(lists, Items):
        return None
    held = [one for one in lists.items if isinstance(one, Items)]
    items = [item for one in held for item in one.items]
    if len(held) < len(lists.items) or not any(map(is_module, items)):
        return None
    return Items(items, more=lists.open or any(one.open for one in held))


def _filter(walk: Walk, call: Call) -> Abstract | None:
    """``filter(None, [conv, norm if normalised else None])``: the layers that there are."""
    given = call.args[1] if len(call.args) == 2 and is_none(call.args[0]) else None
    if not isinstance(given, Items) or not any(is_module(one) for item in given.items for _, one in options(item)):
        return None
    return Items([item for item in given.items if not is_none(item)], more=given.open)


def _map(walk: Walk, call: Call) -> Abstract | None:
    if len(call.args) != 2:
        return None
    item = walk.tables.item_of(walk, call.args[1], call.node)
    return Items([walk.call_with(call.args[0], item, node=call.node)], more=True)


def _partial(walk: Walk, call: Call) -> Abstract | None:
    return Partial(call.args[0], call.args[1:], call.kwargs) if call.args else None


def _first_argument(walk: Walk, call: Call) -> Abstract | None:
    return call.args[0] if call.args else None


def _returning_decorator(walk: Walk, call: Call) -> Abstract:
    """``functools.wraps(f)`` and the like: a decorator that leaves the function as it is."""
    return External("ddpdoctor.identity")


def _path_joined(walk: Walk, call: Call) -> Abstract:
    pieces: list[Abstract] = []
    for i, arg in enumerate(call.args):
        pieces += [Known("/"), arg] if i else [arg]
    return joined(pieces) if pieces else Known("")


def _minimum(walk: Walk, call: Call) -> Abstract | None:
    expressions = [number(arg) for arg in call.args]
    name = call.path.rpartition(".")[2]
    if len(call.args) < 2 or any(expression is None for expression in expressions):
        return Opaque(f"{name}({', '.join(text(arg) for arg in call.args)})", call.flow())
    if all(isinstance(arg, Known) for arg in call.args):
        result = computed(min if name == "min" else max, *(known(arg) for arg in call.args))
        return Opaque(f"{name}()") if result is NO_RESULT else Known(result)
    return Opaque(
        f"{name}({', '.join(text(arg) for arg in call.args)})",
        call.flow(),
        expression=derived(name, *expressions),
    )


def _any(walk: Walk, call: Call) -> Abstract | None:
    value = call.args[0] if call.args else None
    if not isinstance(value, Items) or value.open:
        return None
    formulas = [truth_of(walk, item) for item in value.items]
    return boolean(any_of(formulas) if call.path.endswith("any") else all_of(formulas))


def _print(walk: Walk, call: Call) -> Abstract:
    return NONE


FUNCTIONS = {
    "builtins.int": _converted("int", int),
    "builtins.float": _converted("float", float),
    "builtins.str": _text,
    "builtins.bool": _converted("bool", bool),
    "builtins.len": _len,
    "builtins.list": _listed,
    "builtins.tuple": _listed,
    "builtins.set": _listed,
    "builtins.sorted": _listed,
    "builtins.dict": _dict,
    "builtins.range": _range,
    **{f"tqdm.{name}": _range for name in ("trange", "auto.trange", "std.trange", "notebook.trange", "tnrange")},
    "builtins.iter": _iterator,
    "builtins.enumerate": _passed_on,
    "builtins.zip": _passed_on,
    "builtins.reversed": _passed_on,
    "builtins.next": _next,
    "builtins.sum": _sum,
    "builtins.filter": _filter,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain,
    "builtins.map": _map,
    "builtins.min": _minimum,
    "builtins.max": _minimum,
    "builtins.any": _any,
    "builtins.all": _any,
    "builtins.print": _print,
    "collections.OrderedDict": _dict,
    "functools.partial": _partial,
    "functools.wraps": _returning_decorator,
    "functools.update_wrapper": _first_argument,
    "ddpdoctor.identity": _first_argument,
    "os.path.join": _path_joined,
    "batchgenerators.utilities.file_and_folder_operations.join": _path_joined,
    "os.path.expanduser": _first_argument,
    "pathlib.Path": _path_joined,
    "typing.cast": lambda walk, call: call.args[1] if len(call.args) == 2 else None,
}
METHODS = dict.fromkeys(("next", "__next__"), _next_of)
