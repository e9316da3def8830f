"""The arguments of a call, and dictionaries that are put into others: what ``**`` passes under which condition."""

import ast

from ddpdoctor.atom import ALWAYS, Condition
from ddpdoctor.condition import all_of, any_of, as_formula, assume, negation
from ddpdoctor.named import NamedTuple
from ddpdoctor.reader.abstract import NONE, Abstract, Choice, Items, Known, Table, known
from ddpdoctor.reader.cells import choice, read, write
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.library.kinds import children_of
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.settings import Settings
from ddpdoctor.reader.tags import NO_TAGS, Tags
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def update_table(walk: Walk, table: Table, other: Abstract) -> None:
    """Put the items of another mapping into a table, as ``{**other}`` and ``update`` do."""
    if isinstance(other, Settings):
        other = other.table()
    elif isinstance(other, Made) and other.path == NAMESPACE:
        other = Table(other.attributes)
    if isinstance(other, Table):
        for key, cell in other.cells.items():
            for when, value in cell:
                both = walk.assuming_also(when)
                if both is not None:
                    write(table.cells, key, both, value)
        table.open = table.open or other.open
        table.extra |= other.extra
    elif isinstance(other, Choice):
        before = walk.path
        for condition, option in other.options:
            both = assume(before, all_of(condition))
            if both is not None:
                walk.path = both
                update_table(walk, table, option)
        walk.path = before
    elif isinstance(other, Items) and all(isinstance(pair, Items) and len(pair.items) == 2 for pair in other.items):
        _put_pairs(walk, table, other)
    else:
        table.open = True
        table.extra |= other.tags


def _put_pairs(walk: Walk, table: Table, pairs: Items) -> None:
    """Put pairs of a key and a value into a table: ``OrderedDict([("conv", conv), ("norm", norm)])``."""
    table.open = table.open or pairs.open
    for pair in pairs.items:
        key, value = pair.items if isinstance(pair, Items) else (NONE, pair)
        name = known(key)
        table.open = table.open or not isinstance(name, (str, int))
        cell = name if isinstance(name, (str, int)) else ("key", text(key))
        write(table.cells, cell, walk.path if cell in table.cells else ALWAYS, value)


class Given(NamedTuple):
    """The arguments of a call; ``more`` that are not known, and what of batches flows in with those."""

    args: tuple[Abstract, ...]
    kwargs: dict[str, Abstract]
    more: bool
    spread: Tags


def arguments(walk: Walk, node: "ast.Call | ast.ClassDef", frame: Frame) -> Given:
    """Return the positional and keyword arguments of a call."""
    spread = NO_TAGS
    args: list[Abstract] = []
    kwargs: dict[str, Abstract] = {}
    more = False
    for arg in node.args if isinstance(node, ast.Call) else ():
        if isinstance(arg, ast.Starred):
            value = walk.evaluate(arg.value, frame)
            if isinstance(value, Object):
                value = value.fields_in_order() or value
            value = children_of(value) or value
            if isinstance(value, Items):
                args += value.items
                more = more or value.open
            else:
                more = True
                spread |= of_batches(value.tags)
                if "shard" in value.tags:  # a rank's own part of the data, in however many tensors
                    args.append(value)
        else:
            args.append(walk.evaluate(arg, frame))
    for keyword in node.keywords:
        value = walk.evaluate(keyword.value, frame)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
            continue
        table = Table()
        update_table(walk, table, value)
        more = more or table.open
        spread |= of_batches(value.tags)
        for key, cell in table.cells.items():
            if isinstance(key, str):
                kwargs.setdefault(key, _possibly(walk, cell))
    return Given(tuple(args), kwargs, more, spread)


def of_batches(tags: Tags) -> Tags:
    """Return the part of what flows into a value that comes from batches."""
    return frozenset(tag for tag in tags if tag == "data" or (isinstance(tag, tuple) and tag[0] in OF_BATCHES))


OF_BATCHES = ("batch", "measure", "pooled", "forward")


def _possibly(walk: Walk, cell: list[tuple[Condition, Abstract]]) -> Abstract:
    """Return the value of a key that ``**`` passes; under other conditions than its writes' it is not passed at all."""
    value = read(cell, walk.path)
    if all(when and not when <= walk.path for when, _ in cell):
        absent = negation(any_of(as_formula(when - walk.path) for when, _ in cell))
        rest = assume(walk.path, absent)
        if rest is not None:
            present = [(when - walk.path, option) for when, option in cell]
            return choice([*present, (rest - walk.path, Known(NOT_GIVEN))])
    return value


NAMESPACE = "argparse.Namespace"


class NotGiven:
    """Stands for an argument that is not passed under some condition."""

    def __repr__(self) -> str:
        return "not given"

    def __bool__(self) -> bool:
        return False


NOT_GIVEN = NotGiven()
