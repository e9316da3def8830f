"""What iterating a value gives: the loaders it draws from, how many rounds it has, what one round sees."""

import ast

from ddpdoctor.events import Loop
from ddpdoctor.reader.abstract import Abstract, Choice, Items, Known, Opaque, Table, derived, options
from ddpdoctor.reader.cells import choice, read
from ddpdoctor.reader.formulas import named, number
from ddpdoctor.reader.library.kinds import LAYER_LISTS, layers_of
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Class, Function, Generator, Made, Object
from ddpdoctor.reader.settings import Settings
from ddpdoctor.reader.tags import Tags, in_turn_of
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Constant, Ref, Value
from ddpdoctor.world import Expression


def loaders_in(value: Abstract) -> tuple[Ref, ...]:
    """Return the loaders whose batches iterating a value draws."""
    return tuple(tag[1] for tag in sorted(_pairs(value.tags, "loader"), key=lambda tag: tag[1].place))


def _pairs(tags: Tags, name: str) -> list[tuple[str, Ref]]:
    return [tag for tag in tags if isinstance(tag, tuple) and tag[0] == name]


def rounds_of(value: Abstract, depth: int = 5) -> Value | None:
    """Return how many rounds a loop over a value has, where it says so; ``zip`` in ``zip`` so deep and no deeper."""
    if isinstance(value, Items) and not value.open:
        return Constant(value=len(value.items))
    if isinstance(value, Made) and depth:
        if value.path == "builtins.range" and value.args:
            written = [arg.value for arg in value.args if isinstance(arg, Known) and isinstance(arg.value, int)]
            if len(written) == len(value.args) < 4 and 0 not in written[2:]:
                return Constant(value=len(range(*written)))
            return lower(value.args[0] if len(value.args) == 1 else value.args[1])
        if value.path == "itertools.islice" and len(value.args) > 1:
            return lower(value.args[1] if len(value.args) == 2 else value.args[2])
        if value.path == "builtins.zip":
            counts = (rounds_of(arg, depth - 1) for arg in value.args)
            return next((rounds for rounds in counts if rounds is not None), None)
        if value.args and passes(value):
            return rounds_of(value.args[0], depth - 1)
    return None


def count_of(value: Abstract) -> Expression | None:
    """Return how many rounds a loop over a value has, worked out from the numbers that a range is made of."""
    if not isinstance(value, Made) or not value.args:
        return None
    if passes(value):
        return count_of(value.args[0])
    if value.path != "builtins.range":
        return None
    if len(value.args) == 1 and isinstance(value.args[0], Choice):
        return Expression("either", tuple(number(one) or named(one) for _, one in options(value.args[0])))
    if any(isinstance(arg, Choice) for arg in value.args):
        return Expression("counter", ("one of several", True))
    numbers = [number(arg) or named(arg) for arg in value.args]
    if len(numbers) == 1:
        return numbers[0]
    span = derived("-", numbers[1], numbers[0])
    if len(numbers) == 2:
        return span
    up = derived("-", numbers[2], Expression("constant", (1,)))
    return derived("//", derived("+", span, up), numbers[2])


PASSING = frozenset(
    {
        "builtins.enumerate",
        "builtins.iter",
        "builtins.list",
        "builtins.tuple",
        "builtins.reversed",
        "builtins.sorted",
        "tqdm.tqdm",
        "tqdm.auto.tqdm",
        "tqdm.notebook.tqdm",
        "rich.progress.track",
        "itertools.islice",
    }
)
"""Calls whose result goes over the same items as their first argument."""


def listed(walk: Walk, value: Abstract, *, known_ones: bool = False) -> Items | None:
    """Return the items that iterating a value goes over, where all of them are known.

    With ``known_ones`` those that are known of a dictionary will do, and a configuration is one.
    """
    if known_ones:
        value = _closed(value)
    return _listed(walk, value, MAX_NESTED)


def _closed(value: Abstract) -> Abstract:
    """Return a dictionary, or a view of one, as if what is known of it were all of it."""
    if isinstance(value, Settings):
        value = value.table()
    if isinstance(value, Table):
        return Table(value.cells) if value.cells else value
    first = value.args[0] if isinstance(value, Made) and value.args else None
    if isinstance(value, Made) and isinstance(first, Table) and first.open:
        return Made(value.path, value.ref, (_closed(first), *value.args[1:]), value.kwargs, value.tags)
    return value


MAX_NESTED = 5
"""How deep ``zip`` in ``zip`` is followed: each can hold the one before it twice."""


def _listed(walk: Walk, value: Abstract, depth: int) -> Items | None:
    if isinstance(value, Items):
        return None if value.open else value
    if isinstance(value, Table):
        return None if value.open else Items(_keys(value))
    if not isinstance(value, Made):
        return None
    if value.path in LAYER_LISTS:
        layers = layers_of(value)
        return None if layers.open else layers
    last = value.path.rpartition(".")[2]
    first = value.args[0] if value.args else None
    if last in ("items", "values", "keys") and isinstance(first, Table) and not first.open:
        values = [read(cell, walk.path) for cell in first.cells.values()]
        pairs = [Items(pair, "tuple") for pair in zip(_keys(first), values, strict=True)]
        return {"values": Items(values), "keys": Items(_keys(first))}.get(last, Items(pairs))
    if value.path not in ("builtins.enumerate", "builtins.zip", "builtins.reversed") or depth == 0 or value.open:
        return None
    parts = [_listed(walk, arg, depth - 1) for arg in value.args]
    known_parts = [part for part in parts if part is not None]
    if not parts or len(known_parts) != len(parts):
        return None
    if value.path == "builtins.enumerate" and len(parts) == 1:
        return Items(Items([Known(i), item], "tuple") for i, item in enumerate(known_parts[0].items))
    if value.path == "builtins.zip":
        rows = zip(*(part.items for part in known_parts), strict=False)
        return Items(Items(row, "tuple") for row in rows)
    return known_parts[0] if value.path == "builtins.reversed" else None


def _keys(table: Table) -> list[Abstract]:
    written = table.written or {}
    return [
        Known(key, written.get(key)) if isinstance(key, (str, int)) else Opaque(f"key of {text(table)}")
        for key in table.cells
    ]


def item_of(walk: Walk, value: Abstract, node: ast.AST, loop: Loop | None = None, depth: int = MAX_NESTED) -> Abstract:
    """Return what one round of a loop over a value sees."""
    if isinstance(value, Choice):
        return choice((when, item_of(walk, option, node, loop, depth)) for when, option in options(value))
    if isinstance(value, Items) and value.items:
        return _merged(walk, value.items, node)
    if isinstance(value, Table):
        keys = [Known(key) for key in value.cells if isinstance(key, (str, int))]
        return keys[0] if len(keys) == 1 else Opaque(f"key of {text(value)}")
    if isinstance(value, Known) and isinstance(value.value, (str, tuple)) and value.value:
        return Opaque(f"item of {value.value!r}"[:60])
    if isinstance(value, Made):
        found = _item_of_made(walk, value, node, loop, depth)
        if found is not None:
            return found
    own = frozenset({("round", loop)} if loop else ())  # another value in each round
    usual = value.default if isinstance(value, Opaque) else None
    only = usual.items[0] if isinstance(usual, Items) and len(usual.items) == 1 and not usual.open else None
    return Opaque(f"item of {text(value)}", batch_tags(value.tags) | own, default=only)


def batch_tags(tags: Tags) -> Tags:
    """Return what flows into a batch drawn from a value: rank-local data, from the loaders in it."""
    loaders = _pairs(tags, "loader")
    if not loaders:
        return tags
    rest = frozenset(tag for tag in tags if not (isinstance(tag, tuple) and tag[0] == "loader"))
    return rest | {"data"} | {(kind, ref) for _, ref in loaders for kind in ("batch", "measure")}


def _item_of_made(walk: Walk, value: Made, node: ast.AST, loop: Loop | None, depth: int) -> Abstract | None:
    if value.path in LAYER_LISTS:
        layers = layers_of(value).items
        return _merged(walk, layers, node) if layers else None
    last = value.path.rpartition(".")[2]
    if value.args and _numbers(value):
        return Items([_index(walk, value, node, loop), item_of(walk, value.args[0], node, loop, depth)], "tuple")
    if last in ("parameters", "named_parameters") and isinstance(value.inner, (Made, Object)):
        tag = ("parameter", value.inner.ref, value.inner, text(value.args[0]) if value.of_part else "")
        parameter = Opaque(f"parameter of {text(value.inner)}", frozenset({tag}))
        return parameter if last == "parameters" else Items([Opaque("name of a parameter"), parameter], "tuple")
    if last in ("modules", "children", "named_modules", "named_children") and isinstance(value.inner, (Made, Object)):
        tag = ("parameter", value.inner.ref, value.inner, "one of its modules")
        module = Opaque(f"module of {text(value.inner)}", frozenset({tag}))
        return Items([Opaque("name of a module"), module], "tuple") if last.startswith("named") else module
    if last in ("values", "items") and isinstance(value.inner, (Made, Object)):
        entry = Opaque(f"entry of {text(value.inner)}", frozenset({(STATE, value.inner.ref, value.inner)}))
        return entry if last == "values" else Items([Opaque("name of an entry"), entry], "tuple")
    if value.path == "builtins.zip" and depth:
        return Items([item_of(walk, arg, node, loop, depth - 1) for arg in value.args], "tuple", more=value.open)
    if value.path == "builtins.range":
        return _item_of_range(walk, value, node, loop)
    if last in ("items", "values", "keys") and isinstance(value.args[0] if value.args else None, Table):
        return _item_of_view(walk, value.args[0], last, node)
    if value.args and passes(value):
        return item_of(walk, value.args[0], node, loop, depth)
    if value.path == "builtins.open" and loop is not None:
        return Opaque(f"line of {text(value)}", batch_tags(value.tags) | {("round", loop), (LINES, value)})
    return None


STATE = "state"
"""The tag of a tensor of a model's state: a parameter or a buffer."""
LINES = "lines"
"""The tag of a line of a file, and of what is put together from its lines."""


def _item_of_range(walk: Walk, value: Made, node: ast.AST, loop: Loop | None) -> Abstract:
    bound = number(value.args[-1 if len(value.args) == 1 else 1]) if value.args else None
    if bound == Expression("constant", (1,)) and len(value.args) == 1:
        return Known(0)
    tags = value.tags | ({("index", loop)} if loop else set())
    start = value.args[0] if len(value.args) > 1 else None
    count = _count(loop, start, value.args[2] if len(value.args) > 2 else None)
    return Opaque(f"index in {walk.line(node)}", tags, expression=count)


def _count(loop: Loop | None, start: Abstract | None, step: Abstract | None = None) -> Expression | None:
    """Return what a loop counts, from its start on in its steps."""
    if loop is None:
        return None
    count: Expression | None = Expression("round", (loop.place,))
    if step is not None:
        count = derived("*", count, number(step) or named(step))
    return count if start is None else derived("+", number(start) or named(start), count)


def _item_of_view(walk: Walk, table: Abstract, view: str, node: ast.AST) -> Abstract:
    assert isinstance(table, Table)
    values = [read(cell, walk.path) for cell in table.cells.values()]
    value = _merged(walk, values, node) if values else Opaque("value", table.extra)
    keys = [Known(key) for key in table.cells if isinstance(key, (str, int))]
    key = keys[0] if len(keys) == 1 else Opaque(f"key of {text(table)}")
    return {"values": value, "keys": key}.get(view, Items([key, value], "tuple"))


def generator_in(value: Abstract) -> Generator | None:
    """Return the generator of the project that iterating a value runs, also through ``enumerate`` or a progress bar."""
    while isinstance(value, Made) and value.args and passes(value):
        value = value.args[0]
    return value if isinstance(value, Generator) else None


def passes(value: Made) -> bool:
    """Whether a call gives something that goes over the items of its first argument."""
    return value.path in PASSING or value.path.rpartition(".")[2] in ("tqdm", "track")


def around(iterated: Made, inner: Abstract) -> Made:
    """Return what ``enumerate`` or a progress bar makes of another first argument."""
    return Made(iterated.path, iterated.ref, (inner, *iterated.args[1:]), iterated.kwargs, iterated.tags | inner.tags)


def yielded_through(walk: Walk, iterated: Abstract, value: Abstract, node: ast.AST, loop: Loop) -> Abstract:
    """Return what a round sees of what a generator yields: with an index where ``enumerate`` is around it."""
    if not isinstance(iterated, Made) or not iterated.args:
        return value
    inner = yielded_through(walk, iterated.args[0], value, node, loop)
    return Items([_index(walk, iterated, node, loop), inner], "tuple") if _numbers(iterated) else inner


def _numbers(value: Made) -> bool:
    return value.path == "builtins.enumerate"


def _index(walk: Walk, value: Made, node: ast.AST, loop: Loop | None) -> Abstract:
    """Return the number that ``enumerate`` puts before an item."""
    start = value.args[1] if len(value.args) > 1 else value.kwargs.get("start")
    tags = frozenset({("index", loop)} if loop else ())
    return Opaque(f"index in {walk.line(node)}", tags, expression=_count(loop, start))


def _merged(walk: Walk, values: list[Abstract], node: ast.AST) -> Abstract:
    """Return one item of several: the first where they are alike, as what is done to one is done to all."""
    first = values[0]
    if len(values) == 1:
        return first
    rows = [value.items for value in values if isinstance(value, Items)]
    if isinstance(first, Items) and len(rows) == len(values) and len({len(row) for row in rows}) == 1:
        return Items([_merged(walk, list(column), node) for column in zip(*rows, strict=True)], first.kind)
    tags = in_turn_of(values[:8])
    if all(isinstance(value, (Made, Object, Function, Class)) for value in values):
        line = getattr(node, "lineno", 0)
        return Choice(tuple((frozenset(), value) for value in values[:4])) if line else first
    return Opaque(f"item in {walk.line(node)}", tags)
